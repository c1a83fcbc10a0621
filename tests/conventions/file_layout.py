"""Rules about the layout of files: names, imports, package docstrings, sizes, unfinished work."""

import ast
import re
from collections.abc import Iterator, Mapping

from tests.conventions.source_files import CONVENTIONS_FOLDER, Source, functions, imported

CATCH_ALL_NAMES = frozenset({"utils", "util", "helpers", "helper", "common", "misc", "signals"})
# A ratchet, not a measure of good code: files and functions over the limit may not grow, and no others may pass it.
FILE_LINES = 500
FUNCTION_LINES = 60
# Longer SQL is a file in `queries/`, with a heading comment and a test that plans it.
SQL_LINES = 6
SQL = re.compile(r"\s*(WITH|SELECT|INSERT INTO|UPDATE|DELETE FROM|DO)\b.*\b(AS|FROM|INTO|SET|BEGIN)\b", re.DOTALL)
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK|NotImplementedError)\b")


def catch_all_names(source: Source) -> Iterator[str]:
    """Refuse files and folders for leftovers, whose name is not from the domain."""
    for part in {*source.path.parent.parts, source.path.stem} & CATCH_ALL_NAMES:
        yield f"{source.path}: `{part}` says nothing about the content; name the feature or the thing in it."


def relative_imports(source: Source) -> Iterator[str]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            yield source.at(node, "write the import absolutely.")


def hidden_imports(source: Source) -> Iterator[str]:
    """Refuse imports inside functions, which hide a cycle; only `ready()` runs before models can be imported."""
    for function in functions(source.tree):
        if function.name == "ready" and source.path.name == "apps.py":
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield source.at(node, f"`{function.name}` imports; imports stand at the top of the file.")


def signals_and_mocks(source: Source) -> Iterator[str]:
    """Refuse signals, except Celery's life cycle in its configuration, and mocks."""
    for node, name in imported(source.tree):
        parts = name.split(".")
        lifecycle = parts[0] == "celery" and str(source.path) == "config/celery.py"
        if name.startswith("django.dispatch") or ("signals" in parts and not lifecycle):
            yield source.at(node, f"`{name}`: no signals; call the function, or enqueue on commit.")
        if name.startswith(("unittest.mock", "mock.", "pytest_mock")) or name == "mock":
            yield source.at(node, f"`{name}`: no mocks; drive the stand-in model, pass the time as an argument.")


def broker_delays(source: Source) -> Iterator[str]:
    """Refuse delays and retries in Celery: a column says when work is due, so a lost broker loses nothing."""
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Call) or source.path.parts[0] not in {"apps", "config"}:
            continue
        for keyword in node.keywords:
            if keyword.arg in {"countdown", "eta", "autoretry_for", "retry_backoff"}:
                yield source.at(
                    node, f"`{keyword.arg}`: the time of the next try is a column, and a sweep looks at it."
                )
        if isinstance(node.func, ast.Attribute) and node.func.attr == "retry":
            yield source.at(node, "`retry`: the time of the next try is a column, and a sweep looks at it.")


def package_sentences(source: Source) -> Iterator[str]:
    """A package's `__init__.py` is one docstring of one sentence that says what the feature is.

    Django's own folders may be empty, and a package of models imports what Django looks for.
    """
    package = source.path.parts[0] == "apps" and source.path.name == "__init__.py"
    if not package or {"migrations", "management"} & set(source.path.parts):
        return
    sentence = ast.get_docstring(source.tree) or ""
    if not sentence or (len(source.tree.body) != 1 and source.path.parent.name != "models"):
        yield f"{source.path}: holds exactly one docstring and nothing else."
    elif not sentence.endswith(".") or len(re.split(r"(?<=[.!?])\s+", sentence)) != 1:
        yield f"{source.path}: is one whole sentence."


def unfinished_lines(source: Source) -> Iterator[str]:
    """Refuse marks of unfinished work; the rules themselves spell these words."""
    if str(source.path).startswith(CONVENTIONS_FOLDER):
        return
    for number, line in enumerate(source.text.splitlines(), start=1):
        if found := UNFINISHED.search(line):
            yield f"{source.path}:{number}: `{found[0]}`; finish it or write an issue."


def long_files(source: Source, allowed: Mapping[str, int]) -> Iterator[str]:
    if not source.is_generated:
        yield from _too_long(str(source.path), source.line_count, FILE_LINES, allowed)


def long_functions(source: Source, allowed: Mapping[str, int]) -> Iterator[str]:
    for function in () if source.is_generated else functions(source.tree):
        lines = (function.end_lineno or function.lineno) - function.lineno + 1
        yield from _too_long(f"{source.path}::{function.name}", lines, FUNCTION_LINES, allowed)


def long_queries(source: Source, allowed: Mapping[str, str]) -> Iterator[str]:
    """Refuse SQL of more than a few lines outside a file of its own (see `apps/governance/database/sql_files.py`)."""
    found = [] if source.is_generated else [each for each in _sql_texts(source.tree) if _line_count(each) > SQL_LINES]
    if str(source.path) in allowed:
        if not found:
            yield f"{source.path}: has no long SQL; it needs no allowance any more, remove it."
        return
    for text in found:
        yield source.at(text, f"{_line_count(text)} lines of SQL; more than {SQL_LINES} are a file in `queries/`.")


def _sql_texts(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        text = "".join(part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str))
        if isinstance(node, ast.Constant | ast.JoinedStr) and SQL.match(text):
            yield node


def _line_count(text: ast.expr) -> int:
    """Return the number of lines, without the two lines of the quotes."""
    return (text.end_lineno or text.lineno) - text.lineno - 1


def _too_long(place: str, lines: int, limit: int, allowed: Mapping[str, int]) -> Iterator[str]:
    """Yield a flaw if the length is over the limit without an allowance, or if an allowance is not needed or too high."""
    allowance = allowed.get(place)
    if lines > (allowance or limit):
        yield f"{place}: {lines} lines; split it by meaning (limit {allowance or limit})."
    elif allowance and lines <= limit:
        yield f"{place}: {lines} lines; it needs no allowance any more, remove it."
    elif allowance and lines < allowance:
        yield f"{place}: {lines} lines; lower its allowance from {allowance}."
