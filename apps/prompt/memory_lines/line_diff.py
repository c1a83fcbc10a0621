"""Lines of a text: how it is split, how a line is compared and hashed, and which lines were added, removed or replaced."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass


def split_lines(text: str) -> list[str]:
    """The lines, whatever a browser or a system ends them with."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def strip_line(line: str) -> str:
    """A line by what it says."""
    return line.strip(" \t")


def distinct_lines(text: str) -> frozenset[str]:
    """What a text says, line by line."""
    return frozenset(filter(None, map(strip_line, split_lines(text))))


@dataclass(frozen=True, slots=True)
class LineDiff:
    """The lines that are new, those that are gone, and of these which one came in the place of which."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    replaced: tuple[tuple[str, str], ...] = ()


def line_sha256(line: str) -> str:
    """A line's name; white space around it does not count."""
    return hashlib.sha256(strip_line(line).encode()).hexdigest()


def diff_lines(before: str, after: str, instead: Mapping[str, str] | None = None) -> LineDiff:
    """What came and what went; `instead` says which line its writer put in the place of which.

    Where nobody said it, as many lines as went between two that stayed came in their place, one for one; otherwise some went
    and some came.
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
    """The lines that do not stay, each once, by the one that stays before them."""
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
