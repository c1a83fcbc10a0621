"""Shorter forms of tests for `make test`; `python -m tests.proofs.whole_tests` runs the whole forms."""

import os
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

Form = TypeVar("Form")
IS_WHOLE = os.environ.get("WHOLE_TESTS") == "1"
# Between two edits: `make test-fast`.
IS_FAST = os.environ.get("FAST_TESTS") == "1"


def whole_or(short: Form, *, whole: Form) -> Form:
    """Return the form of this run. A test that calls this has to be marked `whole`, or its whole form never runs."""
    return whole if IS_WHOLE else short


def one_of_each(cells: Sequence[Form], kind: Callable[[Form], Hashable]) -> list[Form]:
    """Return all cells, or one of each kind: the first of the first kind, the second of the second, and so on."""
    kinds: dict[Hashable, list[Form]] = {}
    for cell in cells:
        kinds.setdefault(kind(cell), []).append(cell)
    short = [alike[place % len(alike)] for place, alike in enumerate(kinds.values())]
    return whole_or(short, whole=list(cells))


def covering_cells(cells: Sequence[Form], *sortings: Callable[[Form], Hashable]) -> list[Form]:
    """Return all cells, or so few that each kind of every sorting is among them."""
    chosen: list[Form] = []
    for kind in sortings:
        seen = {kind(cell) for cell in chosen}
        chosen += one_of_each([cell for cell in cells if kind(cell) not in seen], kind)
    return whole_or(chosen, whole=list(cells))


def share_of(row: int, columns: Sequence[Form], rows: int) -> Sequence[Form]:
    """Return the columns to test in one of so many rows: all, or a share such that each column is tested in one row."""
    return whole_or(columns[row % rows :: rows], whole=columns)
