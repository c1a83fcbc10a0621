"""Cost of the API beside plain views of the same rows: lists, single rows and writes with an agent's token, with row security.

`python -m benchmarks.api` starts a PostgreSQL of its own and prints a table. A plain view reads as the database's superuser, with
neither authentication nor checks. It fails if an answer is wrong or takes more statements than promised,
and with `--strict` also if a goal is missed. `--quick` sends fewer requests; `--soak SECONDS` adds a web process under load.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles

from rich.console import Console
from rich.table import Table

from benchmarks.api.benchmark_setup import PAGE, Answer, BenchmarkInstallation, WsgiClient, ground
from benchmarks.api.load_test import LoadResult, run_load

STATEMENTS = 3
LIST_SHARE, ROW_SHARE, WRITE_SHARE, TAIL = 0.6, 0.6, 0.5, 3.0
SOAK_SECONDS, WARMING = 600, 5


@dataclass
class MeasuredEndpoint:
    """One request of one side, and the time of each answer, round by round."""

    name: str
    ask: Callable[[], Answer]
    status: int = 200
    statements: int = 0
    rounds: list[list[float]] = field(default_factory=list)
    # Processor time of this process alone, which a busy machine distorts least; the database's time is not in it.
    processor: list[float] = field(default_factory=list)

    @property
    def p50_ms(self) -> float:
        return 1000 * median(median(each) for each in self.rounds)

    @property
    def tail(self) -> float:
        """The slowest hundredth as a multiple of the median."""
        seconds = [each for taken in self.rounds for each in taken]
        return quantiles(seconds, n=100)[98] / median(seconds)

    @property
    def processor_ms(self) -> float:
        return 1000 * median(self.processor)

    def share_of(self, plain: "MeasuredEndpoint") -> float:
        """Answers in the time in which the plain view gives one: the median over the rounds."""
        return median(median(theirs) / median(ours) for ours, theirs in zip(self.rounds, plain.rounds, strict=True))


@dataclass(frozen=True, slots=True)
class SpeedRow:
    """The product's side beside the plain one. A goal is the least share of its speed; a row without one only informs."""

    side: MeasuredEndpoint
    plain: MeasuredEndpoint
    goal: float | None = None
    most_statements: int | None = None

    @property
    def is_missed(self) -> bool:
        return self.goal is not None and self.side.share_of(self.plain) < self.goal

    @property
    def flaws(self) -> list[str]:
        if self.most_statements is None or self.side.statements <= self.most_statements:
            return []
        return [f"{self.side.name} took {self.side.statements} statements, more than {self.most_statements}."]

    @property
    def cells(self) -> tuple[str, ...]:
        goal = "" if self.goal is None else f"{self.goal:.1f} {'missed' if self.is_missed else 'met'}"
        share = "" if self.side is self.plain else f"{self.side.share_of(self.plain):.2f}"
        return (
            self.side.name,
            str(self.side.statements),
            f"{self.side.p50_ms:.2f}",
            f"{self.side.processor_ms:.2f}",
            f"{self.side.tail:.1f} x",
            share,
            goal,
        )


def rows_of(installation: BenchmarkInstallation) -> list[SpeedRow]:
    asker, numbers = WsgiClient(), iter(range(1_000_000))

    def written(address: str, token: str) -> Callable[[], Answer]:
        def ask() -> Answer:
            note = {"kind": "task", "text": f"Look parcel {next(numbers)} up tomorrow."}
            return asker.ask("POST", address, note, token)

        return ask

    def read(address: str, token: str = "") -> Callable[[], Answer]:
        return lambda: asker.ask("GET", address, None, token)

    nothing = MeasuredEndpoint("nothing, through Django and our middleware", read("/nothing/"))
    plain_list = MeasuredEndpoint(f"a plain list of {PAGE}", read("/plain/skills/"))
    plain_row = MeasuredEndpoint("a plain row", read(f"/plain/memories/{installation.memory_id}/"))
    plain_write = MeasuredEndpoint("a plain INSERT", written("/plain/notes/", ""), 201)
    rest = MeasuredEndpoint(f"REST framework's list of {PAGE}, open", read(f"/plain/rest/?limit={PAGE}"))
    ours = MeasuredEndpoint(f"our list of {PAGE}, by token", read("/api/v1/skills/", installation.token))
    row = MeasuredEndpoint("our row, by token", read(f"/api/v1/memories/{installation.memory_id}/", installation.token))
    write = MeasuredEndpoint("our note written, by token", written("/api/v1/notes/", installation.token), 201)
    return [
        SpeedRow(nothing, nothing),
        SpeedRow(plain_list, plain_list),
        SpeedRow(rest, plain_list),
        SpeedRow(ours, plain_list, LIST_SHARE, STATEMENTS),
        SpeedRow(plain_row, plain_row),
        SpeedRow(row, plain_row, ROW_SHARE, STATEMENTS),
        SpeedRow(plain_write, plain_write),
        SpeedRow(write, plain_write, WRITE_SHARE),
    ]


def measure(rows: Sequence[SpeedRow], rounds: int, each: int) -> list[str]:
    """Measure all sides in turn, so that other load of the machine meets all of them; return the wrong answers."""
    flaws = []
    for side in (row.side for row in rows):
        for _ in range(WARMING):
            answer = side.ask()
        side.statements = answer.statements
        if answer.status != side.status:
            flaws.append(f"{side.name} answered {answer.status}: {answer.content[:300]!r}")
    for _ in range(0 if flaws else rounds):
        taken: dict[str, list[float]] = {row.side.name: [] for row in rows}
        for _ in range(each):
            for side in (row.side for row in rows):
                worked, begun = time.process_time(), time.perf_counter()
                side.ask()
                taken[side.name].append(time.perf_counter() - begun)
                side.processor.append(time.process_time() - worked)
        for side in (row.side for row in rows):
            side.rounds.append(taken[side.name])
    return flaws + [flaw for row in rows for flaw in row.flaws]


def report(rows: Sequence[SpeedRow], soaked: LoadResult | None, console: Console) -> None:
    table = Table(
        *(
            "what is asked",
            "SQL statements",
            "ms, median",
            "of it Python's",
            "p99",
            "share of the plain one's speed",
            "goal",
        ),
        title="One request after the other in one process",
    )
    for row in rows:
        table.add_row(*row.cells)
    console.print(table)
    if soaked:
        console.print(soaked.told)


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--quick", action="store_true", help="fewer rounds, and no load")
    asked.add_argument("--strict", action="store_true", help="fail too where a goal is missed")
    asked.add_argument(
        "--soak", type=int, metavar="SECONDS", help=f"load on a web process; a whole run takes {SOAK_SECONDS}"
    )
    options = asked.parse_args()
    seconds = options.soak if options.soak is not None else (0 if options.quick else SOAK_SECONDS)
    console = Console(width=140)
    with ground() as installation:
        rows = rows_of(installation)
        flaws = measure(rows, *((3, 10) if options.quick else (10, 40)))
        soaked = run_load(installation, seconds) if seconds and not flaws else None
    if rows[0].side.rounds:
        report(rows, soaked, console)
    flaws += soaked.flaws if soaked else []
    for flaw in flaws:
        console.print(f"BROKEN: {flaw}")
    is_missed = options.strict and any(row.is_missed for row in rows)
    return 1 if flaws or is_missed else 0


if __name__ == "__main__":
    sys.exit(main())
