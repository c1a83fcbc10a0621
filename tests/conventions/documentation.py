"""Rules about texts outside the code: commands, settings, error codes and links."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from apps.launcher.data_folders import PROJECT
from tests.conventions.source_files import CONVENTIONS_FOLDER, Source, sources

REFUSALS = frozenset({"GovernanceError", "BackendError"})
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)[^)]*\)|!\[[^\]]*\]\(([^)\s]+)[^)]*\)")
CODE_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+\s+(.+?)\s*#*$", re.MULTILINE)
ANCHOR = re.compile(r'<a id="([^"]+)"></a>')
DECISION_NAME = re.compile(r"\d\d-[a-z-]+\.md")
DECISION_STATUS = re.compile(r"^# .+\n\nStatus: .+ · Date: \d{4}-\d\d-\d\d", re.MULTILINE)
DECISION_HEADINGS = ("Context", "Decision", "Consequences", "Alternatives considered")
EXTERNAL_SCHEMES = ("http://", "https://", "mailto:")


def documentation_pages() -> dict[Path, str]:
    """Return every page of the documentation, and the pages at the root."""
    found = [*PROJECT.glob("*.md"), *(PROJECT / "docs").rglob("*.md")]
    return {path: path.read_text(encoding="utf-8") for path in sorted(found)}


def commands(found: Iterable[Source]) -> list[str]:
    """Return the management commands among some files."""
    paths = [source.path for source in found if source.path.match("management/commands/*.py")]
    return [path.stem for path in paths if not path.stem.startswith("_")]


def missing_names(names: Iterable[str], texts: Iterable[str]) -> list[str]:
    """Return the names that occur as a word in none of the texts."""
    whole = "\n".join(texts)
    return [name for name in names if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", whole)]


def settings_fields(environment: Source) -> list[str]:
    """Return the variables that class Environment reads, as the process environment spells them."""
    [declared] = [
        node for node in environment.tree.body if isinstance(node, ast.ClassDef) and node.name == "Environment"
    ]
    lines = [line.target for line in declared.body if isinstance(line, ast.AnnAssign)]
    return [target.id.upper() for target in lines if isinstance(target, ast.Name) and target.id != "model_config"]


def undocumented(names: Iterable[str], page: str) -> list[str]:
    """Return the names that a page does not contain as code."""
    return [name for name in names if f"`{name}`" not in page]


def error_codes(found: Iterable[Source]) -> Mapping[str, str]:
    """Return every refusal's code by the name of its class; subclasses are followed across files."""
    classes = [node for source in found for node in ast.walk(source.tree) if isinstance(node, ast.ClassDef)]
    family, grown = set(REFUSALS), 0
    while grown != len(family):
        grown = len(family)
        family |= {node.name for node in classes if family & {ast.unparse(base).split(".")[-1] for base in node.bases}}
    return {node.name: code for node in classes if node.name in family for code in _codes(node)}


def _codes(node: ast.ClassDef) -> Iterator[str]:
    for line in node.body:
        match line:
            case ast.Assign(targets=[ast.Name(id="code")], value=ast.Constant(value=str(code))):
                yield code
            case ast.AnnAssign(target=ast.Name(id="code"), value=ast.Constant(value=str(code))):
                yield code


def broken_links(path: Path, text: str) -> Iterator[str]:
    """Yield links to files that do not exist, or to headings and anchors that the file does not have."""
    for match in LINK.finditer(CODE_FENCE.sub("", text)):
        link = match[1] or match[2]
        if link.startswith(EXTERNAL_SCHEMES):
            continue
        name, _, heading = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        if target != path and not target.exists():
            yield f"{path.name}: {link} leads nowhere."
        elif heading and target.suffix == ".md" and heading not in _anchors(target, path, text):
            yield f"{path.name}: {link} names a heading that is not there."


def decision_flaws(name: str, text: str, index: str) -> Iterator[str]:
    """Yield parts that a decision page or its line in the index lacks."""
    if not DECISION_NAME.fullmatch(name):
        yield f"{name}: a decision page is named by its number and subject, such as 01-layers.md."
    if not DECISION_STATUS.search(text):
        yield f"{name}: below its title it needs a line such as 'Status: accepted · Date: 2026-11-21'."
    for heading in DECISION_HEADINGS:
        if f"\n## {heading}\n" not in text:
            yield f"{name}: it needs the section '{heading}'."
    if f"]({name})" not in index:
        yield f"{name}: the index of decisions has no line for it."


def _anchors(target: Path, path: Path, text: str) -> set[str]:
    page = text if target == path else target.read_text(encoding="utf-8")
    headings = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(page)}
    return headings | set(ANCHOR.findall(page))


def product() -> tuple[Source, ...]:
    """Return the files that ship."""
    return sources("apps", "config")


def product_tests() -> list[Source]:
    """Return the tests of the product; the sources of the conventions name things only to forbid them."""
    return [source for source in sources("tests") if not str(source.path).startswith(CONVENTIONS_FOLDER)]
