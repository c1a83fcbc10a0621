"""The lines of a text: splitting, comparing and hashing them, and finding added, removed and replaced lines."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass


def split_lines(text: str) -> list[str]:
    """Return the lines of a text with any kind of line ending."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def strip_line(line: str) -> str:
    """Return a line without surrounding white space."""
    return line.strip(" \t")


def distinct_lines(text: str) -> frozenset[str]:
    """Return the distinct lines of a text."""
    return frozenset(filter(None, map(strip_line, split_lines(text))))


@dataclass(frozen=True, slots=True)
class LineDiff:
    """The added lines, the removed lines, and which added line replaced which removed one."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    replaced: tuple[tuple[str, str], ...] = ()


def line_sha256(line: str) -> str:
    """Return the hash that identifies a line; surrounding white space does not count."""
    return hashlib.sha256(strip_line(line).encode()).hexdigest()


def diff_lines(before: str, after: str, instead: Mapping[str, str] | None = None) -> LineDiff:
    """Return the difference of two texts; `instead` maps lines to their replacements as named by the writer.

    Elsewhere, the lines removed and added between two unchanged lines replace each other in order if their numbers are equal;
    otherwise they count as removed and added.
    """
    stays = distinct_lines(before) & distinct_lines(after)
    went, came = _changed_runs(before, stays), _changed_runs(after, stays)
    gone, new = _flatten_runs(went.values()), _flatten_runs(came.values())
    replacements = instead.items() if instead is not None else _pair_replaced(went, came)
    return LineDiff(new, gone, tuple((old, text) for old, text in replacements if old in gone and text in new))


def _pair_replaced(went: Mapping[str, list[str]], came: Mapping[str, list[str]]) -> Iterator[tuple[str, str]]:
    for behind, gone in went.items():
        if len(gone) == len(came.get(behind, ())):
            yield from zip(gone, came[behind], strict=True)


def _changed_runs(text: str, stays: frozenset[str]) -> dict[str, list[str]]:
    """Return the distinct changed lines, keyed by the last unchanged line before them."""
    runs: dict[str, list[str]] = {}
    behind = ""
    for line in _unique_lines(text):
        if line in stays:
            behind = line
        else:
            runs.setdefault(behind, []).append(line)
    return runs


def _unique_lines(text: str) -> Iterator[str]:
    return iter(dict.fromkeys(filter(None, map(strip_line, split_lines(text)))))


def _flatten_runs(runs: Iterable[list[str]]) -> tuple[str, ...]:
    return tuple(line for run in runs for line in run)
