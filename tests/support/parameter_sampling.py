"""What `make test` tries in a shorter form, and `python -m tests.proofs.whole_tests` whole."""

import os
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

Form = TypeVar("Form")
IS_WHOLE = os.environ.get("WHOLE_TESTS") == "1"
# Between two edits: `make test-fast`.
IS_FAST = os.environ.get("FAST_TESTS") == "1"


def whole_or(short: Form, *, whole: Form) -> Form:
    """The form of this run. A test that asks is marked `whole`, or nobody runs its whole form."""
    return whole if IS_WHOLE else short


def one_of_each(cells: Sequence[Form], kind: Callable[[Form], Hashable]) -> list[Form]:
    """All cells, or one of each kind: of the first kind the first, of the second the second, and so through all columns."""
    kinds: dict[Hashable, list[Form]] = {}
    for cell in cells:
        kinds.setdefault(kind(cell), []).append(cell)
    short = [alike[place % len(alike)] for place, alike in enumerate(kinds.values())]
    return whole_or(short, whole=list(cells))


def covering_cells(cells: Sequence[Form], *sortings: Callable[[Form], Hashable]) -> list[Form]:
    """All cells, or so few that one of each kind is among them, whichever of the sortings says what is of a kind."""
    chosen: list[Form] = []
    for kind in sortings:
        seen = {kind(cell) for cell in chosen}
        chosen += one_of_each([cell for cell in cells if kind(cell) not in seen], kind)
    return whole_or(chosen, whole=list(cells))


def share_of(row: int, columns: Sequence[Form], rows: int) -> Sequence[Form]:
    """What is tried in one of so many rows of a table: all columns, or a share of them, such that each is tried in one row."""
    return whole_or(columns[row % rows :: rows], whole=columns)
