"""Cost of a durable turn: two model calls and a tool that reads, beside the same turn in plain SQL, and beside the goals.

`raw psycopg` is the shortest turn that keeps the promise; `its statements` are the product's own, without its Python code.
`python -m benchmarks.turn` starts a PostgreSQL and a stand-in model of its own and prints a table. It fails if a turn broke
a promise, and with `--strict` also if a goal is missed; `--quick` takes fewer turns, `--list` shows the product's statements.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from benchmarks.turn.measurement import TurnContractBroken
from benchmarks.turn.overhead import QUICK, WHOLE, OverheadFigures, measure

STATEMENTS, TRANSACTIONS, WAL_BYTES, GROWTH, RATIO = 8, 2, 8 * 1024, 1.2, 2.0


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One figure of both sides. A goal is a limit for the product's figure or for the multiple; some rows only inform."""

    name: str
    raw: float
    product: float
    form: str = ",.0f"
    multiple: float | None = None
    goal: float | None = None
    is_goal_of_multiple: bool = False
    walled: float | None = None
    walled_multiple: float | None = None

    @property
    def is_missed(self) -> bool:
        reached = self.multiple if self.is_goal_of_multiple else self.product
        return self.goal is not None and reached is not None and reached > self.goal

    @property
    def cells(self) -> tuple[str, ...]:
        multiples = (
            "" if multiple is None else f"{multiple:.1f} x" for multiple in (self.multiple, self.walled_multiple)
        )
        walled = "" if self.walled is None else f"{self.walled:{self.form}}"
        goal = ""
        if self.goal is not None:
            wanted = f"{self.goal:.1f} x" if self.is_goal_of_multiple else f"{self.goal:{self.form}}"
            goal = f"{wanted} {'missed' if self.is_missed else 'met'}"
        return self.name, f"{self.raw:{self.form}}", walled, f"{self.product:{self.form}}", *multiples, goal


def rows_of(measured: OverheadFigures) -> list[FigureRow]:
    raw, walled, product = measured.raw, measured.walled, measured.product
    sides = raw, walled, product
    growth, wal_growth = "time, late turns as a multiple of early ones", "WAL, late turns as a multiple of early ones"
    return [
        FigureRow("SQL statements", raw.statements, product.statements, goal=STATEMENTS),
        FigureRow("explicit transactions", raw.transactions, product.transactions, goal=TRANSACTIONS),
        FigureRow("SQL statements, with opening a session", raw.opening_statements, product.opening_statements),
        FigureRow("WAL, bytes of rows", raw.wal_bytes, product.wal_bytes, goal=WAL_BYTES),
        FigureRow("WAL, bytes after a checkpoint", raw.wal_bytes_with_pages, product.wal_bytes_with_pages),
        FigureRow(wal_growth, raw.wal_growth, product.wal_growth, ".2f", goal=GROWTH),
        _timed_row("ms besides the model", [side.overhead_ms for side in sides], measured.ratio, measured.walled_ratio),
        _timed_row(
            "ms besides it, commits on disk",
            [side.synced_ms for side in sides],
            measured.synced_ratio,
            measured.synced_walled_ratio,
        ),
        FigureRow(growth, raw.growth, product.growth, ".2f", goal=GROWTH),
        _timed_row("ms with SDK and stand-in", [side.whole_ms for side in sides]),
        _timed_row("ms of this process's CPU", [side.cpu_ms for side in sides]),
    ]


def _timed_row(
    name: str, each: Sequence[float], ratio: float | None = None, walled_ratio: float | None = None
) -> FigureRow:
    """Return a row of times. If the rounds were divided one by one, their median is the multiple, and the goal applies to it."""
    raw, walled, product = each
    goal = None if ratio is None else RATIO
    return FigureRow(
        name, raw, product, ",.1f", ratio or product / raw, goal, True, walled, walled_ratio or product / walled
    )


def report(measured: OverheadFigures, rows: list[FigureRow], console: Console) -> None:
    table = Table(
        *("of a turn", "raw psycopg", "its statements", "the product", "of raw", "of its statements", "goal"),
        title="Two model calls and a tool that reads",
    )
    for row in rows:
        table.add_row(*row.cells)
    console.print(table)
    for flaw in measured.flaws:
        console.print(f"BROKEN: {flaw}")


def _short_statement(statement: str) -> str:
    words = " ".join(statement.replace('"', "").split())
    return re.sub(r"^SELECT \w+\.\w+,.*? FROM", "SELECT ... FROM", words)[:110]


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--quick", action="store_true", help="fewer rounds and shorter conversations")
    asked.add_argument("--strict", action="store_true", help="fail too where a goal is missed")
    asked.add_argument(
        "--list", action="store_true", help="the statements of one of the product's turns, in their order"
    )
    options = asked.parse_args()
    console = Console(width=120)
    try:
        measured = measure(QUICK if options.quick else WHOLE)
    except TurnContractBroken as broken:
        console.print(f"BROKEN: {broken}")
        return 1
    rows = rows_of(measured)
    report(measured, rows, console)
    if options.list:
        for number, statement in enumerate(measured.product.counted[-1][1].statements, 1):
            console.print(f"{number:3} {_short_statement(statement)}", markup=False, highlight=False)
    is_missed = options.strict and any(row.is_missed for row in rows)
    return 1 if measured.flaws or is_missed else 0


if __name__ == "__main__":
    sys.exit(main())
