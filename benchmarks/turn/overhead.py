"""What a durable turn costs besides its model, turn by turn beside the same turn in plain SQL."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import mean, median

from apps.llm.anthropic.sync_client import AnthropicBackend
from apps.llm.model_backend import Backend, Reply, Request, StopReason, ToolUse, Usage
from benchmarks.turn.measurement import BrokenPromise, Taken, answer_to, flaws_of, overhead_ms, turn_taken
from benchmarks.turn.product_turn import Product, make_database
from benchmarks.turn.raw_sql_turn import DATABASE, FenceLost, Held, RawHouse, make_tables
from benchmarks.turn.replayed_sql_turn import WalledHouse, taking_down
from benchmarks.turn.testbed import Ground, House, Logged, Timed, ground
from tests.settings import PREFIX

EDGE = 10
COUNTED = 4
SAMPLED, LOGGED, LONG, NEW, WALLED, FENCED = range(1_000, 7_000, 1_000)


@dataclass(frozen=True, slots=True)
class Size:
    """How many rounds of how many turns, how long the long conversation is, and over how many turns WAL is summed."""

    rounds: int
    turns: int
    long: int
    walled: int


WHOLE, QUICK = Size(5, 20, 100, 200), Size(2, 6, 30, 10)


@dataclass
class Side:
    """One house's figures. The first turn of a conversation opens its session and is left out, but where statements are counted."""

    house: House
    rounds: list[list[Taken]] = field(default_factory=list)
    synced: list[list[Taken]] = field(default_factory=list)
    late: list[Taken] = field(default_factory=list)
    early: list[Taken] = field(default_factory=list)
    rows: list[Taken] = field(default_factory=list)
    pages: list[Taken] = field(default_factory=list)
    counted: list[tuple[Taken, Logged]] = field(default_factory=list)

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
        """How much longer the last turns of a long conversation take than those of a new one beside it."""
        return overhead_ms(self.late) / overhead_ms(self.early)

    @property
    def wal_growth(self) -> float:
        return median(turn.wal_bytes for turn in self.late) / median(turn.wal_bytes for turn in self.early)


@dataclass(frozen=True, slots=True)
class Measured:
    """The houses, and what must not be so. `walled` sends the product's statements; only its time is measured."""

    raw: Side
    walled: Side
    product: Side
    flaws: tuple[str, ...]

    @property
    def ratio(self) -> float:
        """The median over the rounds of what the product's turn takes, as a multiple of the plain one's."""
        return _ratio(self.product.rounds, self.raw.rounds)

    @property
    def walled_ratio(self) -> float:
        """As a multiple of the same statements without the product around them."""
        return _ratio(self.product.rounds, self.walled.rounds)

    @property
    def synced_ratio(self) -> float:
        """The first where each commit waits for the disk, which all wait for."""
        return _ratio(self.product.synced, self.raw.synced)

    @property
    def synced_walled_ratio(self) -> float:
        """The second where each commit waits for the disk."""
        return _ratio(self.product.synced, self.walled.synced)


def _ratio(product: Sequence[Sequence[Taken]], raw: Sequence[Sequence[Taken]]) -> float:
    return median(overhead_ms(ours) / overhead_ms(theirs) for ours, theirs in zip(product, raw, strict=True))


def measure(size: Size) -> Measured:
    """Everything on one server, the houses taking turns, so that the machine's moods meet all of them."""
    with ground() as place:
        make_database(place)
        make_tables(place)
        backend = AnthropicBackend("none", base_url=place.standin_url)
        product = Product()
        sample = sample_of(place, product, backend)
        raw = RawHouse(place, sample, product.skill.body)
        walled = _walled_house(place, backend)
        sides = Side(raw), Side(product)
        with product.counting():
            flaws = [*_counted(place, sides, backend), *_fence_holds(raw)]
        timed = sides[0], Side(walled), sides[1]
        _interleaved(place, timed, backend, size)
        _lengthened(place, sides, backend, size.long)
        _walled(place, sides, backend, size.walled)
        flaws += _unanswered(sides, size) + _unanswered_in_rounds(timed[1], size)
        raw.shut()
        walled.shut()
        product.shut()
        backend.close()
    return Measured(*timed, tuple(flaws))


def sample_of(place: Ground, product: Product, backend: Backend) -> Request:
    """What the product sends; the raw loop sends the same system, tools and first words."""
    tool = {"tool": {"name": "get_skill", "arguments": dict(product.read_skill)}}
    place.play(tool, {"reply": {"text": answer_to(SAMPLED, 1)}})
    product.receive(SAMPLED, 1)
    timed = Timed(backend)
    product.take(SAMPLED, timed)
    if not timed.requests:
        raise BrokenPromise("The product took no turn.")
    return timed.requests[0]


def _walled_house(place: Ground, backend: Backend) -> WalledHouse:
    """With the statements of a turn of a running session, which the turn before had planned."""
    product = Product()
    sample = sample_of(place, product, backend)
    turn_taken(place, product, backend, SAMPLED, 2)
    with taking_down() as taken:
        turn_taken(place, product, backend, SAMPLED, 3)
    return WalledHouse(product, sample, taken)


def _counted(place: Ground, sides: Sequence[Side], backend: Backend) -> list[str]:
    """Statements as the client counts them, beside those that the server says it was sent."""
    place.configure(log_statement="all")
    for side in sides:
        for number in range(1, 2 + COUNTED):
            taken = turn_taken(place, side.house, backend, LOGGED, number)
            side.counted.append((taken, place.read_log(side.house.process_id, *taken.logged)))
    place.configure(log_statement="none")
    return [
        f"{side.house.name} counted {taken.statements} statements where the server was sent {logged.work}."
        for side in sides
        for taken, logged in side.counted
        if taken.statements != logged.work
    ]


def _interleaved(place: Ground, sides: Sequence[Side], backend: Backend, size: Size) -> None:
    """Rounds of new conversations, first with commits that wait for the disk, then without, as everything after them."""
    for thread in range(-size.rounds, 0):
        for side, turns in zip(sides, _round(place, sides, backend, thread, size.turns), strict=True):
            side.synced.append(turns)
    place.configure(synchronous_commit="off")
    for thread in range(1, size.rounds + 1):
        for side, turns in zip(sides, _round(place, sides, backend, thread, size.turns), strict=True):
            side.rounds.append(turns)


def _round(place: Ground, sides: Sequence[Side], backend: Backend, thread: int, turns: int) -> tuple[list[Taken], ...]:
    """A conversation with each. Who begins changes, so that none always finds the same one's leavings."""
    place.take_statistics(DATABASE, PREFIX)
    taken: tuple[list[Taken], ...] = tuple([] for _ in sides)
    for number in range(1, turns + 1):
        for place_of_side in range(len(sides))[:: 1 if number % 2 else -1]:
            house = sides[place_of_side].house
            taken[place_of_side].append(turn_taken(place, house, backend, thread, number))
    return tuple(each[1:] for each in taken)


def _lengthened(place: Ground, sides: Sequence[Side], backend: Backend, long: int) -> None:
    """A conversation grows long; its last turns and those of a new one after its first are then taken by turns."""
    for side in sides:
        for number in range(1, long - EDGE + 1):
            turn_taken(place, side.house, backend, LONG, number)
        turn_taken(place, side.house, backend, NEW, 1)
    place.take_statistics(DATABASE, PREFIX)
    for number in range(1, EDGE + 1):
        for side in sides:
            side.late.append(turn_taken(place, side.house, backend, LONG, long - EDGE + number))
            side.early.append(turn_taken(place, side.house, backend, NEW, 1 + number))


def _walled(place: Ground, sides: Sequence[Side], backend: Backend, turns: int) -> None:
    """Bytes of WAL of the rows alone, and with the whole pages that the first change after a checkpoint writes."""
    place.configure(full_page_writes="off")
    for side in sides:
        side.rows += [turn_taken(place, side.house, backend, WALLED, number) for number in range(1, turns + 1)][1:]
    place.configure(full_page_writes="on")
    for side in sides:
        place.checkpoint()
        numbers = range(turns + 1, 2 * turns + 1)
        side.pages += [turn_taken(place, side.house, backend, WALLED, number) for number in numbers]


def _fence_holds(raw: RawHouse) -> list[str]:
    """The floor is one only while it keeps the promise too: who lost the turn writes nothing."""
    raw.receive(FENCED, 1)
    held = raw.claim(FENCED)
    if held is None or raw.claim(FENCED) is not None:
        return ["raw psycopg does not hold a turn that it claimed."]
    stale = Held(held.turn, held.fence - 1, held.asked, held.history)
    reply = Reply("", "", StopReason.TOOL_USE, (), "", (ToolUse("", "get_skill", {}),), Usage(1, 1), is_stand_in=True)
    writes = {"a step": lambda: raw.keep(stale, reply, {}, ""), "a reply": lambda: raw.close(stale, reply, {}, {})}
    return [
        f"raw psycopg wrote {what} under a fence that it had lost." for what, write in writes.items() if _writes(write)
    ]


def _writes(write: Callable[[], None]) -> bool:
    try:
        write()
    except FenceLost:
        return False
    return True


def _unanswered_in_rounds(side: Side, size: Size) -> list[str]:
    threads = (thread for thread in range(-size.rounds, size.rounds + 1) if thread)
    return [flaw for thread in threads for flaw in flaws_of(side.house, thread, size.turns)]


def _unanswered(sides: Sequence[Side], size: Size) -> list[str]:
    lengths = {LONG: size.long, NEW: 1 + EDGE, WALLED: 2 * size.walled, LOGGED: 1 + COUNTED}
    return [
        *(flaw for side in sides for flaw in _unanswered_in_rounds(side, size)),
        *(flaw for side in sides for thread, turns in lengths.items() for flaw in flaws_of(side.house, thread, turns)),
    ]
