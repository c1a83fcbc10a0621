"""Cost of a month of requests under the published rules, mark by mark, and the causes of missed prefixes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from heapq import heappop, heappush
from typing import TypeAlias

from apps.llm.cache_rules import CacheEntry, CacheRules, Prefix, TokenBill, settle_prefixes
from apps.llm.model_backend import CacheLifetime
from apps.llm.prices import TokenRates
from apps.prompt.cache.breakpoints import ExpectedBill
from benchmarks.prompt_cache.lower_bound import HOUR, cheapest, shares
from benchmarks.prompt_cache.miss_causes import MissCauseRecorder
from benchmarks.prompt_cache.request_trie import Node, TracedCall

MarksByIndex: TypeAlias = Mapping[int, CacheLifetime]
CacheEntries: TypeAlias = dict[bytes, CacheEntry]


@dataclass(frozen=True, slots=True)
class PlannedMarks:
    """Marks by their place in the path, and the planner's expectation if there is one."""

    marks: MarksByIndex
    expected: ExpectedBill | None = None


Strategy: TypeAlias = Callable[[TracedCall, CacheEntries], PlannedMarks]


@dataclass(slots=True)
class StrategyTotal:
    """What a strategy costs over the whole month, in tokens that are not cached."""

    price: TokenRates
    read: int = 0
    written_5m: int = 0
    written_1h: int = 0
    uncached: int = 0
    surprises: int = 0

    def add(self, bill: TokenBill) -> None:
        self.read += bill.read
        self.written_5m += bill.written_5m
        self.written_1h += bill.written_1h
        self.uncached += bill.uncached

    @property
    def tokens(self) -> int:
        return self.read + self.written_5m + self.written_1h + self.uncached

    @property
    def cost_usd(self) -> float:
        price = self.price
        micro = (
            self.read * price.cache_read
            + self.written_5m * price.cache_write_5m
            + self.written_1h * price.cache_write_1h
            + self.uncached * price.input
        )
        return float(micro / Decimal(1_000_000))


def bill_all(
    calls: Sequence[TracedCall],
    strategy: Strategy,
    rules: CacheRules,
    price: TokenRates,
    witness: MissCauseRecorder | None = None,
) -> StrategyTotal:
    """Bill every call in order; its writes are readable for others once its response begins."""
    total = StrategyTotal(price)
    cached: CacheEntries = {}
    beginning: list[tuple[float, int, Mapping[bytes, CacheEntry]]] = []
    for number, call in enumerate(calls):
        while beginning and beginning[0][0] <= call.at:
            cached.update(heappop(beginning)[2])
        planned = strategy(call, cached)
        settled = settle_prefixes(mark_path(call.path, planned.marks), cached=cached, rules=rules, now=call.at)
        total.add(settled.bill)
        if witness:
            witness.see(call, settled.bill.read, cached)
        total.surprises += planned.expected is not None and not _is_as_expected(planned.expected, settled.bill)
        heappush(beginning, (call.begins_at, number, settled.entries))
    return total


def _is_as_expected(expected: ExpectedBill, bill: TokenBill) -> bool:
    return (expected.read, expected.written_5m, expected.written_1h, expected.uncached) == (
        bill.read,
        bill.written_5m,
        bill.written_1h,
        bill.uncached,
    )


def mark_path(path: Sequence[Node], marks: MarksByIndex) -> list[Prefix]:
    along = [node.prefix for node in path]
    for index, lifetime in marks.items():
        prefix = along[index]
        along[index] = Prefix(prefix.digest, prefix.tokens, prefix.position, lifetime)
    return along


def bound_usd(calls: Iterable[TracedCall], nodes: Sequence[Node], price: TokenRates) -> float:
    """Return the cost of a planner that knows the future."""
    uses: list[list[float]] = [[] for _ in nodes]
    for call in calls:
        for node in call.path:
            uses[node.number].append(call.at)
    ratio = shares(price)
    tokens = sum(node.tokens * cheapest(at, ratio) for node, at in zip(nodes, uses, strict=True))
    return tokens * float(price.input) / 1_000_000


def readable_tokens(calls: Sequence[TracedCall], rules: CacheRules) -> int:
    """Return the most tokens that the rules let be read: everything sent within the hour, if it reaches the minimum length."""
    last: dict[int, float] = {}
    beginning: list[tuple[float, int, TracedCall]] = []
    readable = 0
    for number, call in enumerate(calls):
        while beginning and beginning[0][0] <= call.at:
            _, _, begun = heappop(beginning)
            last.update((node.number, begun.at) for node in begun.path)
        known = 0
        for node in call.path:
            if call.at - last.get(node.number, -HOUR) >= HOUR:
                break
            known = node.prefix.tokens
        readable += known if known >= rules.minimum_prefix_tokens else 0
        heappush(beginning, (call.begins_at, number, call))
    return readable
