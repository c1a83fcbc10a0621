"""Prompt cache breakpoints: a plan of cache marks from block sizes, expected reuse, the model's cache rules and prices.

A token written for five minutes costs a little more than an uncached one, a token written for an hour twice as much, and a read
almost nothing. A mark therefore pays only if its prefix is read again, and the plan sets the marks that are expected to pay. Hour
marks come before five-minute marks. The last mark of each kind determines how much of the prompt is written at the price of that
kind. A read renews an entry for the entry's own lifetime.

A position in the prompt is the number of blocks before it: 0 is the beginning, and 3 is the end of the third block.
A prefix of 0 blocks is "nothing cached" or "no mark".

The model's cache rules and token prices are passed in through two protocols; `apps.llm` has the data for both.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import IntEnum
from itertools import accumulate
from typing import Final, Literal, Protocol, TypeAlias


class CacheRulesProtocol(Protocol):
    """The rules of a model's cache, as in `apps.llm.cache_rules.CacheRules`."""

    @property
    def minimum_prefix_tokens(self) -> int: ...
    @property
    def marks(self) -> int: ...
    @property
    def look_back_positions(self) -> int: ...
    @property
    def run_kinds(self) -> frozenset[str]: ...


class TokenRatesProtocol(Protocol):
    """Rates in micro-dollars per token, as in `apps.llm.prices.TokenRates`."""

    @property
    def input(self) -> Decimal: ...
    @property
    def cache_read(self) -> Decimal: ...
    @property
    def cache_write_5m(self) -> Decimal: ...
    @property
    def cache_write_1h(self) -> Decimal: ...


Lifetime: TypeAlias = Literal["5m", "1h"]

# Block types that must not have a mark.
UNMARKABLE_KINDS: Final = frozenset({"thinking", "redacted_thinking"})


class PrefixScope(IntEnum):
    """Which other requests begin with the same bytes up to this block."""

    WORKSPACE = 0
    AGENT = 1
    CUSTOMER = 2
    CONVERSATION = 3


@dataclass(frozen=True, slots=True)
class PlannedBlock:
    """One block of a request, in hashing order.

    `held` is the lifetime of the cache entry for the prefix up to the end of this block; None if it is not cached.
    """

    label: str
    tokens: int
    reach: PrefixScope
    kind: str = "text"
    held: Lifetime | None = None


@dataclass(frozen=True, slots=True)
class Reuse:
    """The probability that the same bytes are sent again: within five minutes, and after that within the hour."""

    soon: float
    later: float

    @property
    def later_before_never(self) -> float:
        """Return the expected number of gaps that an hour's lifetime bridges and five minutes do not, before a longer gap."""
        never = max(1.0 - self.soon - self.later, 0.01)
        return self.later / never


def reuse_at_rate(uses_per_hour: float) -> Reuse:
    """Return the expected reuse by independent requests at this hourly rate."""
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
    """A prefix that is too short for the model to cache, which the API does not report (R184)."""

    label: str
    prefix_tokens: int
    missing_tokens: int


@dataclass(frozen=True, slots=True)
class BreakpointPlan:
    """The mark of each block, the expected charge of the call, and the prefixes too short to be cached."""

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
    """A request with all values derived from its blocks."""

    pieces: Sequence[PlannedBlock]
    rules: CacheRulesProtocol
    rates: TokenRatesProtocol
    expectation: ReuseExpectation
    # By number of blocks, from 0 on: the tokens of that prefix, and the look-back position of its last block.
    tokens: Sequence[int]
    positions: Sequence[int]
    # The longest cached prefix, and the longest prefix cached for an hour.
    warm: int
    anchor: int
    # The end of each scope.
    reaches: Sequence[int]

    @property
    def block_counts(self) -> range:
        """Return the length in blocks of every prefix except the empty one."""
        return range(1, len(self.pieces) + 1)

    def last_block(self, count: int) -> PlannedBlock:
        return self.pieces[count - 1]

    def is_long_enough(self, count: int) -> bool:
        return self.tokens[count] >= self.rules.minimum_prefix_tokens


def plan_marks(
    pieces: Sequence[PlannedBlock],
    *,
    rules: CacheRulesProtocol,
    rates: TokenRatesProtocol,
    expectation: ReuseExpectation,
) -> BreakpointPlan:
    """Return the marks that minimise the expected cost of this call and later calls."""
    request = _measure_blocks(pieces, rules, rates, expectation)
    lasts = (0, *filter(request.is_long_enough, request.reaches))
    first_new = _first_new_block(request)
    hours = sorted({*lasts, first_new} if first_new else {*lasts})
    shared = tuple(_shared_ranges(request))
    options = [(hour, last) for last in lasts for hour in hours if hour <= last]
    hour, last = max(options, key=lambda option: (_net_saving(request, shared, *option), -option[1], -option[0]))
    placed = _place_marks(request, hour, last)
    long_end = max(placed & {hour, request.anchor}, default=0)
    marks = tuple(_lifetime(count, long_end) if count in placed else None for count in request.block_counts)
    return BreakpointPlan(marks, _expected_bill(request, marks), tuple(_shortfalls(request)))


def _lifetime(count: int, long_end: int) -> Lifetime:
    return "1h" if count <= long_end else "5m"


def _measure_blocks(
    pieces: Sequence[PlannedBlock], rules: CacheRulesProtocol, rates: TokenRatesProtocol, expectation: ReuseExpectation
) -> _PlanInput:
    held = {count: piece.held for count, piece in enumerate(pieces, 1) if piece.held}
    last_of_reach = {piece.reach: count for count, piece in enumerate(pieces, 1)}
    return _PlanInput(
        pieces,
        rules,
        rates,
        expectation,
        tokens=tuple(accumulate((piece.tokens for piece in pieces), initial=0)),
        positions=tuple(_positions(pieces, rules)),
        warm=max(held, default=0),
        anchor=max((count for count, lifetime in held.items() if lifetime == "1h"), default=0),
        reaches=sorted(last_of_reach.values()),
    )


def _positions(pieces: Sequence[PlannedBlock], rules: CacheRulesProtocol) -> Iterator[int]:
    """Return the look-back position of each prefix: a run of adjacent blocks of one kind may count as one position."""
    position = 0
    previous = ""
    yield position
    for piece in pieces:
        continues_run = piece.kind == previous and piece.kind in rules.run_kinds
        position += 0 if continues_run else 1
        previous = piece.kind
        yield position


def _first_new_block(request: _PlanInput) -> int | None:
    """Return the end of the first new block: an hour mark there keeps the cached prefix for an hour at the price of one block."""
    if not request.warm:
        return None
    for count in request.block_counts[request.warm :]:
        ends_run = count == len(request.pieces) or request.positions[count + 1] != request.positions[count]
        is_markable = request.last_block(count).kind not in UNMARKABLE_KINDS
        if ends_run and is_markable and request.is_long_enough(count):
            return count
    return None


def _shared_ranges(request: _PlanInput) -> Iterator[_SharedRange]:
    """Yield the ranges that are written now. Only these can get a longer lifetime; entries that are read keep theirs."""
    start = warm_tokens = request.tokens[request.warm]
    for count in request.reaches:
        reach, end = request.last_block(count).reach, request.tokens[count]
        if reach is not PrefixScope.CONVERSATION and end > warm_tokens:
            yield _SharedRange(start, end, request.expectation.of(reach))
            start = end


def _net_saving(request: _PlanInput, shared: Sequence[_SharedRange], hour: int, last: int) -> float:
    """Return the later savings of an hour mark at `hour` and a five-minute mark at `last`, minus their cost now."""
    rates = request.rates
    warm, hour_end, last_end = request.tokens[request.warm], request.tokens[hour], request.tokens[last]
    longer = float(rates.cache_write_1h - rates.cache_write_5m) * max(hour_end - warm, 0)
    written = float(rates.cache_write_5m - rates.input) * max(last_end - warm, 0)
    others = sum(_reads_by_others(request, part, hour_end, last_end) for part in shared)
    saved = float(rates.cache_write_5m - rates.cache_read) * (_own_reads(request, hour, last) + others)
    return saved - longer - written


def _own_reads(request: _PlanInput, hour: int, last: int) -> float:
    """Return the tokens that this conversation is expected to read later instead of writing them again."""
    own = request.expectation.conversation
    reads = own.soon * max(request.tokens[last] - request.tokens[request.warm], 0)
    if hour > request.warm:
        guarded = request.tokens[hour] - request.tokens[request.anchor]
        reads += own.later * _later_calls_factor(request, hour) * guarded
    return reads


def _reads_by_others(request: _PlanInput, part: _SharedRange, hour_end: int, last_end: int) -> float:
    soon = (1 - request.expectation.conversation.soon) * part.reuse.soon
    return soon * part.up_to(last_end) + part.reuse.later_before_never * part.up_to(hour_end)


def _later_calls_factor(request: _PlanInput, hour: int) -> float:
    """Return the weight of an hour mark within the conversation, which also protects later calls that could set their own.

    If all calls wrote the same amount, the cheapest distance between two such marks would be the square root below, and
    half of the root as a factor would keep that distance. Calls write different amounts, so a smaller factor is used,
    which allows waiting for a short block.
    """
    if request.last_block(hour).reach is not PrefixScope.CONVERSATION or not request.warm:
        return 1.0
    rates = request.rates
    extra = float(rates.cache_write_1h - rates.cache_write_5m)
    lost = request.expectation.conversation.later * float(rates.cache_write_5m - rates.cache_read)
    return max(math.sqrt(2 * extra / lost) / 3, 1.0) if lost > 0 else 1.0


def _place_marks(request: _PlanInput, hour: int, last: int) -> frozenset[int]:
    """Return marks up to the model's limit: first the marks that write, then those that find and keep the cached prefix."""
    placed = [count for count in dict.fromkeys((last, hour)) if count]
    wished = _optional_marks(request)
    if request.warm and not _is_warm_prefix_found(request, placed):
        wished = [request.warm, *wished]
    written_to = max(last, request.warm)
    placed += [count for count in dict.fromkeys(wished) if 0 < count <= written_to and count not in placed]
    return frozenset(placed[: request.rules.marks])


def _is_warm_prefix_found(request: _PlanInput, placed: Sequence[int]) -> bool:
    """Return whether a mark is close enough after the cached prefix for the look-back to reach it."""
    positions, warm = request.positions, request.warm
    return any(
        count >= warm and positions[count] - positions[warm] < request.rules.look_back_positions for count in placed
    )


def _optional_marks(request: _PlanInput) -> list[int]:
    """Return the marks that only keep or share a prefix, most useful first: the anchor, then scopes by expected reuse."""

    def worth(count: int) -> float:
        reach = request.last_block(count).reach
        reuse = request.expectation.of(reach)
        own_tokens = sum(piece.tokens for piece in request.pieces[:count] if piece.reach is reach)
        return own_tokens * (reuse.soon + reuse.later)

    return [request.anchor, *sorted(filter(request.is_long_enough, request.reaches), key=worth, reverse=True)]


def _expected_bill(request: _PlanInput, marks: Sequence[Lifetime | None]) -> ExpectedBill:
    ends_marked = [(request.tokens[count], mark) for count, mark in enumerate(marks, 1) if mark]
    read = request.tokens[request.warm] if ends_marked else 0
    end_1h = max(read, max((end for end, mark in ends_marked if mark == "1h"), default=0))
    end_5m = max(end_1h, max((end for end, _ in ends_marked), default=0))
    total = request.tokens[len(request.pieces)]
    rates = request.rates
    cost = (
        read * rates.cache_read
        + (end_1h - read) * rates.cache_write_1h
        + (end_5m - end_1h) * rates.cache_write_5m
        + (total - end_5m) * rates.input
    )
    return ExpectedBill(read, end_5m - end_1h, end_1h - read, total - end_5m, cost)


def _shortfalls(request: _PlanInput) -> Iterator[Shortfall]:
    minimum = request.rules.minimum_prefix_tokens
    for count in request.reaches:
        tokens = request.tokens[count]
        if tokens < minimum:
            yield Shortfall(request.last_block(count).label, tokens, minimum - tokens)
