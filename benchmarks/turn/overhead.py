"""Overhead of a durable turn beside its model, turn by turn beside the same turn in plain SQL."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import mean, median

from apps.llm.anthropic.sync_client import AnthropicBackend
from apps.llm.model_backend import ModelBackend, ModelReply, ModelRequest, StopReason, ToolUse, Usage
from benchmarks.turn.benchmark_setup import LoggedStatements, TimedBackend, TurnRunner, TurnTestbed, ground
from benchmarks.turn.measurement import (
    TurnContractBroken,
    TurnCost,
    expected_answer,
    find_unanswered,
    measure_turn,
    overhead_ms,
)
from benchmarks.turn.product_turn import ProductTurnRunner, make_database
from benchmarks.turn.raw_sql_turn import DATABASE, ClaimedTurn, FenceLost, RawTurnRunner, make_tables
from benchmarks.turn.replayed_sql_turn import ReplayTurnRunner, record_statements
from tests.settings import PREFIX

EDGE_TURNS = 10
COUNTED_TURNS = 4
SAMPLED, LOGGED, LONG, NEW, WALLED, FENCED = range(1_000, 7_000, 1_000)


@dataclass(frozen=True, slots=True)
class Size:
    """The number of rounds and turns, the length of the long conversation, and the turns over which WAL is summed."""

    rounds: int
    turns: int
    long: int
    walled: int


WHOLE, QUICK = Size(5, 20, 100, 200), Size(2, 6, 30, 10)


@dataclass
class RunnerFigures:
    """One side's figures. The first turn of a conversation, which opens its session, counts only in the statement figures."""

    house: TurnRunner
    rounds: list[list[TurnCost]] = field(default_factory=list)
    synced: list[list[TurnCost]] = field(default_factory=list)
    late: list[TurnCost] = field(default_factory=list)
    early: list[TurnCost] = field(default_factory=list)
    rows: list[TurnCost] = field(default_factory=list)
    pages: list[TurnCost] = field(default_factory=list)
    counted: list[tuple[TurnCost, LoggedStatements]] = field(default_factory=list)

    @property
    def overhead_ms(self) -> float:
        return median(map(overhead_ms, self.rounds))

    @property
    def synced_ms(self) -> float:
        return median(map(overhead_ms, self.synced))

    @property
    def whole_ms(self) -> float:
        return 1000 * median(turn.seconds for turns in self.rounds for turn in turns)

    @property
    def cpu_ms(self) -> float:
        return 1000 * median(turn.cpu_seconds for turns in self.rounds for turn in turns)

    @property
    def statements(self) -> int:
        return max(logged.work for _, logged in self.counted[1:])

    @property
    def transactions(self) -> int:
        return max(logged.transactions for _, logged in self.counted[1:])

    @property
    def opening_statements(self) -> int:
        return self.counted[0][1].work

    @property
    def wal_bytes(self) -> float:
        return mean(turn.wal_bytes for turn in self.rows)

    @property
    def wal_bytes_with_pages(self) -> float:
        return mean(turn.wal_bytes for turn in self.pages)

    @property
    def growth(self) -> float:
        """The time of the last turns of a long conversation as a multiple of those of a new one beside it."""
        return overhead_ms(self.late) / overhead_ms(self.early)

    @property
    def wal_growth(self) -> float:
        return median(turn.wal_bytes for turn in self.late) / median(turn.wal_bytes for turn in self.early)


@dataclass(frozen=True, slots=True)
class OverheadFigures:
    """The figures of all sides, and the flaws. `walled` sends the product's statements; only its time is measured."""

    raw: RunnerFigures
    walled: RunnerFigures
    product: RunnerFigures
    flaws: tuple[str, ...]

    @property
    def ratio(self) -> float:
        """The product's turn as a multiple of the plain one's: the median over the rounds."""
        return _ratio(self.product.rounds, self.raw.rounds)

    @property
    def walled_ratio(self) -> float:
        """The product's turn as a multiple of the same statements without its Python code."""
        return _ratio(self.product.rounds, self.walled.rounds)

    @property
    def synced_ratio(self) -> float:
        """`ratio` if each commit waits for the disk."""
        return _ratio(self.product.synced, self.raw.synced)

    @property
    def synced_walled_ratio(self) -> float:
        """`walled_ratio` if each commit waits for the disk."""
        return _ratio(self.product.synced, self.walled.synced)


def _ratio(product: Sequence[Sequence[TurnCost]], raw: Sequence[Sequence[TurnCost]]) -> float:
    return median(overhead_ms(ours) / overhead_ms(theirs) for ours, theirs in zip(product, raw, strict=True))


def measure(size: Size) -> OverheadFigures:
    """Measure all sides in turn on one server, so that other load of the machine meets all of them."""
    with ground() as place:
        make_database(place)
        make_tables(place)
        backend = AnthropicBackend("none", base_url=place.standin_url)
        product = ProductTurnRunner()
        sample = sample_request(place, product, backend)
        raw = RawTurnRunner(place, sample, product.skill.body)
        walled = _make_replay_runner(place, backend)
        sides = RunnerFigures(raw), RunnerFigures(product)
        with product.counting():
            flaws = [*_count_statements(place, sides, backend), *_check_fence(raw)]
        timed = sides[0], RunnerFigures(walled), sides[1]
        _run_interleaved(place, timed, backend, size)
        _run_long_conversation(place, sides, backend, size.long)
        _measure_wal(place, sides, backend, size.walled)
        flaws += _unanswered_turns(sides, size) + _unanswered_round_turns(timed[1], size)
        raw.shut()
        walled.shut()
        product.shut()
        backend.close()
    return OverheadFigures(*timed, tuple(flaws))


def sample_request(place: TurnTestbed, product: ProductTurnRunner, backend: ModelBackend) -> ModelRequest:
    """Return a request of the product; the raw loop sends the same system, tools and first words."""
    tool = {"tool": {"name": "get_skill", "arguments": dict(product.read_skill)}}
    place.play(tool, {"reply": {"text": expected_answer(SAMPLED, 1)}})
    product.receive(SAMPLED, 1)
    timed = TimedBackend(backend)
    product.take(SAMPLED, timed)
    if not timed.requests:
        raise TurnContractBroken("The product took no turn.")
    return timed.requests[0]


def _make_replay_runner(place: TurnTestbed, backend: ModelBackend) -> ReplayTurnRunner:
    """Return a runner with the statements of a turn of a running session, which the turn before had planned."""
    product = ProductTurnRunner()
    sample = sample_request(place, product, backend)
    measure_turn(place, product, backend, SAMPLED, 2)
    with record_statements() as taken:
        measure_turn(place, product, backend, SAMPLED, 3)
    return ReplayTurnRunner(product, sample, taken)


def _count_statements(place: TurnTestbed, sides: Sequence[RunnerFigures], backend: ModelBackend) -> list[str]:
    """Count the statements at the client; return flaws if the server's log has another number."""
    place.configure(log_statement="all")
    for side in sides:
        for number in range(1, 2 + COUNTED_TURNS):
            taken = measure_turn(place, side.house, backend, LOGGED, number)
            side.counted.append((taken, place.read_log(side.house.process_id, *taken.logged)))
    place.configure(log_statement="none")
    return [
        f"{side.house.name} counted {taken.statements} statements where the server was sent {logged.work}."
        for side in sides
        for taken, logged in side.counted
        if taken.statements != logged.work
    ]


def _run_interleaved(place: TurnTestbed, sides: Sequence[RunnerFigures], backend: ModelBackend, size: Size) -> None:
    """Run rounds of new conversations, first with commits that wait for the disk, then without, as in all later steps."""
    for thread in range(-size.rounds, 0):
        for side, turns in zip(sides, _round(place, sides, backend, thread, size.turns), strict=True):
            side.synced.append(turns)
    place.configure(synchronous_commit="off")
    for thread in range(1, size.rounds + 1):
        for side, turns in zip(sides, _round(place, sides, backend, thread, size.turns), strict=True):
            side.rounds.append(turns)


def _round(
    place: TurnTestbed, sides: Sequence[RunnerFigures], backend: ModelBackend, thread: int, turns: int
) -> tuple[list[TurnCost], ...]:
    """Run a conversation on each side. The first side changes, so that each meets the others' after-effects equally."""
    place.take_statistics(DATABASE, PREFIX)
    taken: tuple[list[TurnCost], ...] = tuple([] for _ in sides)
    for number in range(1, turns + 1):
        for place_of_side in range(len(sides))[:: 1 if number % 2 else -1]:
            runner = sides[place_of_side].house
            taken[place_of_side].append(measure_turn(place, runner, backend, thread, number))
    return tuple(each[1:] for each in taken)


def _run_long_conversation(
    place: TurnTestbed, sides: Sequence[RunnerFigures], backend: ModelBackend, long: int
) -> None:
    """Run a long conversation; then take its last turns and those of a new one in alternation."""
    for side in sides:
        for number in range(1, long - EDGE_TURNS + 1):
            measure_turn(place, side.house, backend, LONG, number)
        measure_turn(place, side.house, backend, NEW, 1)
    place.take_statistics(DATABASE, PREFIX)
    for number in range(1, EDGE_TURNS + 1):
        for side in sides:
            side.late.append(measure_turn(place, side.house, backend, LONG, long - EDGE_TURNS + number))
            side.early.append(measure_turn(place, side.house, backend, NEW, 1 + number))


def _measure_wal(place: TurnTestbed, sides: Sequence[RunnerFigures], backend: ModelBackend, turns: int) -> None:
    """Measure the bytes of WAL of the rows alone, and with the whole pages of the first change after a checkpoint."""
    place.configure(full_page_writes="off")
    for side in sides:
        side.rows += [measure_turn(place, side.house, backend, WALLED, number) for number in range(1, turns + 1)][1:]
    place.configure(full_page_writes="on")
    for side in sides:
        place.checkpoint()
        numbers = range(turns + 1, 2 * turns + 1)
        side.pages += [measure_turn(place, side.house, backend, WALLED, number) for number in numbers]


def _check_fence(raw: RawTurnRunner) -> list[str]:
    """Check that the lower bound keeps the promise too: a worker that lost the turn writes nothing."""
    raw.receive(FENCED, 1)
    held = raw.claim(FENCED)
    if held is None or raw.claim(FENCED) is not None:
        return ["raw psycopg does not hold a turn that it claimed."]
    stale = ClaimedTurn(held.turn, held.fence - 1, held.asked, held.history)
    reply = ModelReply(
        "", "", StopReason.TOOL_USE, (), "", (ToolUse("", "get_skill", {}),), Usage(1, 1), is_stand_in=True
    )
    writes = {"a step": lambda: raw.keep(stale, reply, {}, ""), "a reply": lambda: raw.close(stale, reply, {}, {})}
    return [
        f"raw psycopg wrote {what} under a fence that it had lost."
        for what, write in writes.items()
        if _does_write(write)
    ]


def _does_write(write: Callable[[], None]) -> bool:
    try:
        write()
    except FenceLost:
        return False
    return True


def _unanswered_round_turns(side: RunnerFigures, size: Size) -> list[str]:
    threads = (thread for thread in range(-size.rounds, size.rounds + 1) if thread)
    return [flaw for thread in threads for flaw in find_unanswered(side.house, thread, size.turns)]


def _unanswered_turns(sides: Sequence[RunnerFigures], size: Size) -> list[str]:
    lengths = {LONG: size.long, NEW: 1 + EDGE_TURNS, WALLED: 2 * size.walled, LOGGED: 1 + COUNTED_TURNS}
    return [
        *(flaw for side in sides for flaw in _unanswered_round_turns(side, size)),
        *(
            flaw
            for side in sides
            for thread, turns in lengths.items()
            for flaw in find_unanswered(side.house, thread, turns)
        ),
    ]
