"""Lines of a text: how it is split, how a line is compared and hashed, and which lines were added, removed or replaced."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass


def lines_of(text: str) -> list[str]:
    """The lines, whatever a browser or a system ends them with."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def bare(line: str) -> str:
    """A line by what it says."""
    return line.strip(" \t")


def known(text: str) -> frozenset[str]:
    """What a text says, line by line."""
    return frozenset(filter(None, map(bare, lines_of(text))))


@dataclass(frozen=True, slots=True)
class Moved:
    """The lines that are new, those that are gone, and of these which one came in the place of which."""

    came: tuple[str, ...]
    went: tuple[str, ...]
    replaced: tuple[tuple[str, str], ...] = ()


def line_sha256(line: str) -> str:
    """A line's name; white space around it does not count."""
    return hashlib.sha256(bare(line).encode()).hexdigest()


def moved(before: str, after: str, instead: Mapping[str, str] | None = None) -> Moved:
    """What came and what went; `instead` says which line its writer put in the place of which.

    Where nobody said it, as many lines as went between two that stayed came in their place, one for one; otherwise some went
    and some came.
    """
    stays = known(before) & known(after)
    went, came = _runs(before, stays), _runs(after, stays)
    gone, new = _joined(went.values()), _joined(came.values())
    said = instead.items() if instead is not None else _one_for_one(went, came)
    return Moved(new, gone, tuple((old, text) for old, text in said if old in gone and text in new))


def _one_for_one(went: Mapping[str, list[str]], came: Mapping[str, list[str]]) -> Iterator[tuple[str, str]]:
    for behind, gone in went.items():
        if len(gone) == len(came.get(behind, ())):
            yield from zip(gone, came[behind], strict=True)


def _runs(text: str, stays: frozenset[str]) -> dict[str, list[str]]:
    """The lines that do not stay, each once, by the one that stays before them."""
    runs: dict[str, list[str]] = {}
    behind = ""
    for line in _once(text):
        if line in stays:
            behind = line
        else:
            runs.setdefault(behind, []).append(line)
    return runs


def _once(text: str) -> Iterator[str]:
    return iter(dict.fromkeys(filter(None, map(bare, lines_of(text)))))


def _joined(runs: Iterable[list[str]]) -> tuple[str, ...]:
    return tuple(line for run in runs for line in run)
