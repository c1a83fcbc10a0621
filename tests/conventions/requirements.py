"""Rules about requirement numbers: the page defines each number once, citations resolve, and tests cite what is built."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from apps.launcher.data_folders import PROJECT
from tests.conventions.source_files import CONVENTIONS_FOLDER, Source

PAGE: Final = PROJECT / "docs" / "requirements.md"
# Folders that the build and the tests leave in a clone, beside those with a leading dot.
GENERATED_FOLDERS: Final = frozenset({"__pycache__", "screenshots", "staticfiles"})
# Files without a suffix are text too: Makefile, Dockerfile, .ci/run. Lock files hold hashes.
TEXT_SUFFIXES: Final = frozenset(
    {"", ".css", ".csv", ".html", ".js", ".json", ".md", ".py", ".sql", ".toml", ".txt", ".yaml", ".yml"}
)
# Measured goals have short numbers that much other text resembles, so a citation names their series.
CITATION: Final = re.compile(r"\b(R\d{3})\b|(?<![\w-])(Z-\d+)\b|\bMEASUREMENTS (A\d+)\b")
DEFINITION: Final = re.compile(r'^- <a id="(?P<anchor>[^"]*)"></a>\*\*(?P<number>R\d{3}|Z-\d+|A\d+)\*\* (?P<text>.+)$')
NUMBERED_LINE: Final = re.compile(r"^\W*(?:<a [^>]*></a>)?\W*(?:R\d+|Z-?\d+|A\d+)\b")
UNBUILT_MARKS: Final = ("**Open:**", "Replaced by [Z-")


@dataclass(frozen=True, slots=True)
class NumberedLine:
    """One line of the page: a requirement, a decision or a measured goal."""

    number: str
    anchor: str
    text: str

    @property
    def series(self) -> str:
        """R of requirements, Z of decisions, A of measured goals."""
        return self.number[0]

    @property
    def position(self) -> int:
        return int(self.number[1:].removeprefix("-"))

    @property
    def is_unbuilt(self) -> bool:
        """Whether the page marks the line as open, or as replaced by a decision."""
        return any(mark in self.text for mark in UNBUILT_MARKS)


def numbered_lines(page: str) -> list[NumberedLine]:
    """The lines of the page that define a number, in their order."""
    matches = (DEFINITION.match(line) for line in page.splitlines())
    return [NumberedLine(match["number"], match["anchor"], match["text"]) for match in matches if match]


def numbering_flaws(page: str) -> Iterator[str]:
    """Yield gaps in a series, which counts from 1, and lines without the anchor that links use."""
    for text in page.splitlines():
        if NUMBERED_LINE.match(text) and not DEFINITION.match(text):
            yield f"`{text[:60]}` defines no number; write it as the lines beside it."
    last: dict[str, int] = {}
    for line in numbered_lines(page):
        if line.position != last.get(line.series, 0) + 1:
            yield f"{line.number}: number {last.get(line.series, 0) + 1} of its series belongs here."
        if line.anchor != line.number.lower():
            yield f"{line.number}: its anchor is `{line.anchor}`."
        last[line.series] = line.position


def text_files(folder: Path = PROJECT) -> Iterator[Source]:
    """Return the text files of the repository, except the rules and their examples."""
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            if _is_searched(path):
                yield from text_files(path)
        elif path.suffix in TEXT_SUFFIXES and not path.name.startswith("."):
            yield Source(PurePosixPath(path.relative_to(PROJECT)), path.read_text(encoding="utf-8"))


def _is_searched(folder: Path) -> bool:
    is_hidden = folder.name.startswith(".") and folder.name != ".ci"
    return not is_hidden and folder.name not in GENERATED_FOLDERS and folder != PROJECT / CONVENTIONS_FOLDER


def cited_numbers(text: str) -> Iterator[str]:
    """Yield the numbers that a text cites; of a range, the first and the last."""
    return (match[match.lastindex or 0] for match in CITATION.finditer(text))


def unknown_citations(source: Source, known: Iterable[str]) -> Iterator[str]:
    """Yield citations of a number that the page does not define."""
    if not CITATION.search(source.text):
        return
    defined = frozenset(known)
    for place, line in enumerate(source.text.splitlines(), start=1):
        for number in cited_numbers(line):
            if number not in defined:
                yield f"{source.path}:{place}: {number} is not on docs/requirements.md."


def untested_requirements(
    lines: Iterable[NumberedLine], tests: Iterable[Source], allowed: Mapping[str, str]
) -> Iterator[str]:
    """Yield built requirements that no test cites and no allowance excuses, and allowances that are not needed."""
    tested = {number for source in tests for number in cited_numbers(source.text)}
    missing = {line.number for line in lines if line.series == "R" and not line.is_unbuilt} - tested
    for number in sorted(missing - set(allowed)):
        yield f"{number}: no test cites it; cite it where it is proven, or say on the page that it is open."
    for number in sorted(set(allowed) - missing):
        yield f"{number}: it needs no allowance any more, remove it."
