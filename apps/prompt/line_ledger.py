"""What came and what went between two states of a text, line by line."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from apps.prompt.lines import bare, known, lines_of


@dataclass(frozen=True, slots=True)
class Moved:
    """The lines that are new, those that are gone, and of these which one came in the place of which."""

    came: tuple[str, ...]
    went: tuple[str, ...]
    replaced: tuple[tuple[str, str], ...] = ()


def line_sha256(line: str) -> str:
    """A line's name; white space around it does not count."""
    return hashlib.sha256(bare(line).encode()).hexdigest()


def moved(before: str, after: str) -> Moved:
    """As many lines as went between two that stayed came in their place, one for one; otherwise some went and some came."""
    stays = known(before) & known(after)
    went, came = _runs(before, stays), _runs(after, stays)
    replaced = tuple(
        pair
        for behind, gone in went.items()
        if len(gone) == len(came.get(behind, ()))
        for pair in zip(gone, came[behind], strict=True)
    )
    return Moved(_joined(came.values()), _joined(went.values()), replaced)


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
