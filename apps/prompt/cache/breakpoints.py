"""Prompt cache breakpoints: a plan of cache marks from block sizes, expected reuse, the model's cache rules and prices.

A token written for five minutes costs a little more than an uncached one, for an hour twice as much, and a read costs almost
nothing. So a mark is a bet, and the plan makes the bets that pay. Hour marks come before five-minute marks. The last mark of
either kind sets how far the prompt is written at its price. A read renews what it reads for its own lifetime.

The model's cache rules and token prices come in through two protocols; `apps.llm` has both as data.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import IntEnum
from itertools import accumulate
from typing import Final, Literal, Protocol, TypeAlias


class CacheRulesProtocol(Protocol):
    """What the model's cache does; `apps.llm.cache_rules.CacheRules` is one."""

    @property
    def minimum_prefix_tokens(self) -> int: ...
    @property
    def marks(self) -> int: ...
    @property
    def look_back_positions(self) -> int: ...
    @property
    def run_kinds(self) -> frozenset[str]: ...


class TokenRatesProtocol(Protocol):
    """Micro-dollars per token; `apps.llm.prices.TokenRates` is one."""

    @property
    def input(self) -> Decimal: ...
    @property
    def cache_read(self) -> Decimal: ...
    @property
    def cache_write_5m(self) -> Decimal: ...
    @property
    def cache_write_1h(self) -> Decimal: ...


Lifetime: TypeAlias = Literal["5m", "1h"]

# Block types that may not carry a mark.
UNMARKABLE_KINDS: Final = frozenset({"thinking", "redacted_thinking"})


class PrefixScope(IntEnum):
    """Which other requests send the same bytes up to this block."""

    WORKSPACE = 0
    AGENT = 1
    CUSTOMER = 2
    CONVERSATION = 3


@dataclass(frozen=True, slots=True)
class PlannedBlock:
    """One block of a request, in hashing order.

    `held` is the lifetime with which the prefix up to its end is cached now, if it is.
    """

    label: str
    tokens: int
    reach: PrefixScope
    kind: str = "text"
    held: Lifetime | None = None


@dataclass(frozen=True, slots=True)
class Reuse:
    """The probability that the same bytes are sent again: within five minutes, or after that within the hour."""

    soon: float
    later: float

    @property
    def later_before_never(self) -> float:
        """Return how often an hour's lifetime saves what five minutes lose, until the bytes are unused for longer than that."""
        never = max(1.0 - self.soon - self.later, 0.01)
        return self.later / never


def reuse_at_rate(uses_per_hour: float) -> Reuse:
    """Return the expected reuse by independent requests, at so many an hour."""
    within_5m, within_1h = -math.expm1(-uses_per_hour / 12), -math.expm1(-uses_per_hour)
    return Reuse(within_5m, within_1h - within_5m)


@dataclass(frozen=True, slots=True)
class ReuseExpectation:
    """The expected reuse: by this conversation's next call, and by other conversations."""

    conversation: Reuse
    customer: Reuse
    agent: Reuse
    workspace: Reuse

    def of(self, reach: PrefixScope) -> Reuse:
        return (self.workspace, self.agent, self.customer, self.conversation)[reach]


@dataclass(frozen=True, slots=True)
class ExpectedBill:
    """The expected charge of a call."""

    read: int
    written_5m: int
    written_1h: int
    uncached: int
    cost_micro_usd: Decimal


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A prefix that is too short for the model to cache, which the model does not report (R184)."""

    label: str
    prefix_tokens: int
    missing_tokens: int


@dataclass(frozen=True, slots=True)
class BreakpointPlan:
    """The mark of each block, the expected charge of the call, and the prefixes that cannot be cached."""

    marks: tuple[Lifetime | None, ...]
    expected: ExpectedBill
    shortfalls: tuple[Shortfall, ...]


@dataclass(frozen=True, slots=True)
class _SharedRange:
    """The tokens of one scope that this call writes: their range, and their expected reuse."""

    start: int
    end: int
    reuse: Reuse

    def up_to(self, tokens: int) -> int:
        return min(max(tokens - self.start, 0), self.end - self.start)


@dataclass(frozen=True, slots=True)
class _PlanInput:
    """A request with the values derived from its blocks; index -1 is the beginning of the prompt."""

    pieces: Sequence[PlannedBlock]
    rules: CacheRulesProtocol
    rates: TokenRatesProtocol
    expectation: ReuseExpectation
    ends: Sequence[int]
    positions: Sequence[int]
    warm: int
    anchor: int
    reaches: Sequence[int]

    def tokens_to(self, index: int) -> int:
        return self.ends[index] if index >= 0 else 0

    def is_long_enough(self, index: int) -> bool:
        return self.ends[index] >= self.rules.minimum_prefix_tokens


def plan_marks(
    pieces: Sequence[PlannedBlock],
    *,
    rules: CacheRulesProtocol,
    rates: TokenRatesProtocol,
    expectation: ReuseExpectation,
) -> BreakpointPlan:
    """Return the marks that minimise the expected cost of this call and the following ones."""
    request = _measure_blocks(pieces, rules, rates, expectation)
    lasts = (-1, *(index for index in request.reaches if request.is_long_enough(index)))
    hours = sorted({*lasts, *_first_new_block(request)})
    shared = tuple(_shared_ranges(request))
    options = [(hour, last) for last in lasts for hour in hours if hour <= last]
    hour, last = max(options, key=lambda option: (_net_saving(request, shared, *option), -option[1], -option[0]))
    placed = _place_marks(request, hour, last)
    long_end = max([index for index in placed if index in {hour, request.anchor}], default=-1)
    marks = tuple(_lifetime(index, long_end) if index in placed else None for index in range(len(pieces)))
    return BreakpointPlan(marks, _expected_bill(request, marks), tuple(_shortfalls(request)))


def _lifetime(index: int, long_end: int) -> Lifetime:
    return "1h" if index <= long_end else "5m"


def _measure_blocks(
    pieces: Sequence[PlannedBlock], rules: CacheRulesProtocol, rates: TokenRatesProtocol, expectation: ReuseExpectation
) -> _PlanInput:
    held = [index for index, piece in enumerate(pieces) if piece.held]
    long_held = [index for index in held if pieces[index].held == "1h"]
    return _PlanInput(
        pieces,
        rules,
        rates,
        expectation,
        ends=tuple(accumulate(piece.tokens for piece in pieces)),
        positions=tuple(_positions(pieces, rules)),
        warm=max(held, default=-1),
        anchor=max(long_held, default=-1),
        reaches=sorted({piece.reach: index for index, piece in enumerate(pieces)}.values()),
    )


def _positions(pieces: Sequence[PlannedBlock], rules: CacheRulesProtocol) -> Iterator[int]:
    position = -1
    previous = ""
    for piece in pieces:
        position += not (piece.kind == previous and piece.kind in rules.run_kinds)
        previous = piece.kind
        yield position


def _first_new_block(request: _PlanInput) -> Iterator[int]:
    """Yield the first new block: an hour mark there keeps all warm bytes for an hour, at the price of one block."""
    index = request.warm + 1
    while 0 < index < len(request.pieces):
        ends_run = index + 1 == len(request.pieces) or request.positions[index + 1] != request.positions[index]
        if ends_run and request.pieces[index].kind not in UNMARKABLE_KINDS and request.is_long_enough(index):
            yield index
            return
        index += 1


def _shared_ranges(request: _PlanInput) -> Iterator[_SharedRange]:
    """Yield the ranges that are written now. Only these can get a longer lifetime; a read keeps its own."""
    start = warm = request.tokens_to(request.warm)
    for index in request.reaches:
        reach = request.pieces[index].reach
        if reach is not PrefixScope.CONVERSATION and request.ends[index] > warm:
            yield _SharedRange(start, request.ends[index], request.expectation.of(reach))
            start = request.ends[index]


def _net_saving(request: _PlanInput, shared: Sequence[_SharedRange], hour: int, last: int) -> float:
    """Return the later saving of an hour mark at `hour` and a five-minute mark at `last`, minus the present cost."""
    rates = request.rates
    warm, hour_end, last_end = (request.tokens_to(index) for index in (request.warm, hour, last))
    longer = float(rates.cache_write_1h - rates.cache_write_5m) * max(hour_end - warm, 0)
    written = float(rates.cache_write_5m - rates.input) * max(last_end - warm, 0)
    others = sum(_reads_by_others(request, part, hour_end, last_end) for part in shared)
    saved = float(rates.cache_write_5m - rates.cache_read) * (_own_reads(request, hour, last) + others)
    return saved - longer - written


def _own_reads(request: _PlanInput, hour: int, last: int) -> float:
    """Return the tokens that this conversation will read instead of writing again, weighted by probability."""
    own = request.expectation.conversation
    reads = own.soon * max(request.tokens_to(last) - request.tokens_to(request.warm), 0)
    if hour > request.warm:
        guarded = request.tokens_to(hour) - request.tokens_to(request.anchor)
        reads += own.later * _later_calls_factor(request, hour) * guarded
    return reads


def _reads_by_others(request: _PlanInput, part: _SharedRange, hour_end: int, last_end: int) -> float:
    soon = (1 - request.expectation.conversation.soon) * part.reuse.soon
    return soon * part.up_to(last_end) + part.reuse.later_before_never * part.up_to(hour_end)


def _later_calls_factor(request: _PlanInput, hour: int) -> float:
    """Return the factor for an hour mark within the conversation: it protects later calls too, which could set it themselves.

    If all calls wrote the same amount, the cheapest distance between two such marks would be the square root below, and
    half of it as a factor would keep that distance. They do not; a smaller factor allows waiting for a short block.
    """
    if request.pieces[hour].reach is not PrefixScope.CONVERSATION or request.warm < 0:
        return 1.0
    rates = request.rates
    extra = float(rates.cache_write_1h - rates.cache_write_5m)
    lost = request.expectation.conversation.later * float(rates.cache_write_5m - rates.cache_read)
    return max(math.sqrt(2 * extra / lost) / 3, 1.0) if lost > 0 else 1.0


def _place_marks(request: _PlanInput, hour: int, last: int) -> frozenset[int]:
    """Return at most as many marks as the model allows: those that write first, then those that find and keep the warm prefix."""
    placed = [index for index in dict.fromkeys((last, hour)) if index >= 0]
    wished = [_unreachable_warm_prefix(request, placed), *_optional_marks(request)]
    written_to = max(last, request.warm)
    placed += [index for index in dict.fromkeys(wished) if 0 <= index <= written_to and index not in placed]
    return frozenset(placed[: request.rules.marks])


def _unreachable_warm_prefix(request: _PlanInput, placed: Sequence[int]) -> int:
    """Return the warm prefix if no mark is near enough to find it."""
    positions = request.positions
    found = any(
        index >= request.warm and positions[index] - positions[request.warm] < request.rules.look_back_positions
        for index in placed
    )
    return -1 if found else request.warm


def _optional_marks(request: _PlanInput) -> list[int]:
    """Return the marks that only keep or share, the most useful first: the anchor, then each scope by its expected readers."""

    def worth(index: int) -> float:
        reuse = request.expectation.of(request.pieces[index].reach)
        own = sum(piece.tokens for piece in request.pieces[: index + 1] if piece.reach is request.pieces[index].reach)
        return own * (reuse.soon + reuse.later)

    return [request.anchor, *sorted(filter(request.is_long_enough, request.reaches), key=worth, reverse=True)]


def _expected_bill(request: _PlanInput, marks: Sequence[Lifetime | None]) -> ExpectedBill:
    read = request.tokens_to(request.warm) if any(marks) else 0
    long_end = max((request.ends[at] for at, mark in enumerate(marks) if mark == "1h"), default=0)
    end_1h = max(read, long_end)
    end_5m = max(end_1h, max((request.ends[at] for at, mark in enumerate(marks) if mark), default=0))
    total = request.tokens_to(len(request.pieces) - 1)
    rates = request.rates
    cost = (
        read * rates.cache_read
        + (end_1h - read) * rates.cache_write_1h
        + (end_5m - end_1h) * rates.cache_write_5m
        + (total - end_5m) * rates.input
    )
    return ExpectedBill(read, end_5m - end_1h, end_1h - read, total - end_5m, cost)


def _shortfalls(request: _PlanInput) -> Iterator[Shortfall]:
    floor = request.rules.minimum_prefix_tokens
    for index in request.reaches:
        if request.ends[index] < floor:
            yield Shortfall(request.pieces[index].label, request.ends[index], floor - request.ends[index])
