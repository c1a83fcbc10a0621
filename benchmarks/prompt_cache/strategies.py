"""Cache strategies of others, and of the product."""

from collections.abc import Iterator
from typing import Final

from apps.llm.cache_rules import CacheRules
from apps.llm.prices import TokenRates
from apps.prompt.cache.breakpoints import (
    Lifetime,
    PlannedBlock,
    PrefixScope,
    Reuse,
    ReuseExpectation,
    plan_marks,
    reuse_at_rate,
)
from benchmarks.prompt_cache.billing import CacheEntries, MarksByIndex, PlannedMarks
from benchmarks.prompt_cache.lower_bound import HOUR
from benchmarks.prompt_cache.request_trie import TracedCall
from benchmarks.prompt_cache.reuse_rates import ObservedReuse

NEXT_CALL: Final = Reuse(soon=0.75, later=0.12)


def no_marks(call: TracedCall, cached: CacheEntries) -> PlannedMarks:  # noqa: ARG001 - every strategy takes both
    return PlannedMarks({})


def one_mark(call: TracedCall, cached: CacheEntries) -> PlannedMarks:  # noqa: ARG001
    """Set one mark for five minutes, behind the system prompt."""
    return PlannedMarks({_last_index(call, PrefixScope.CUSTOMER): "5m"})


def automatic(call: TracedCall, cached: CacheEntries) -> PlannedMarks:  # noqa: ARG001
    """Set one mark for five minutes, on the last block."""
    return PlannedMarks({len(call.path) - 1: "5m"})


def fixed(call: TracedCall, cached: CacheEntries) -> PlannedMarks:  # noqa: ARG001
    """Set the four marks without a plan: A, B and the last user block for an hour, the tail for five minutes."""
    asked = max(
        at for at, node in enumerate(call.path) if node.kind == "text" and node.reach is PrefixScope.CONVERSATION
    )
    marks: MarksByIndex = {len(call.path) - 1: "5m"}
    hours: MarksByIndex = {
        _last_index(call, PrefixScope.AGENT): "1h",
        _last_index(call, PrefixScope.CUSTOMER): "1h",
        asked: "1h",
    }
    return PlannedMarks({**marks, **hours})


def _last_index(call: TracedCall, reach: PrefixScope) -> int:
    return max(at for at, node in enumerate(call.path) if node.reach <= reach)


class ProductPlanner:
    """The product's own planner, which knows its former writes and how often they were read again."""

    def __init__(self, rules: CacheRules, price: TokenRates) -> None:
        self._rules = rules
        self._price = price
        self._observed = ObservedReuse()

    def __call__(self, call: TracedCall, cached: CacheEntries) -> PlannedMarks:
        expectation = self._observed.expectation(call)
        pieces = tuple(
            PlannedBlock(
                node.label, node.tokens, node.reach, node.kind, _cached_lifetime(cached, node.prefix.digest, call.at)
            )
            for node in call.path
        )
        plan = plan_marks(pieces, rules=self._rules, rates=self._price, expectation=expectation)
        return PlannedMarks({at: mark for at, mark in enumerate(plan.marks) if mark}, plan.expected)


def _cached_lifetime(cached: CacheEntries, digest: bytes, now: float) -> Lifetime | None:
    entry = cached.get(digest)
    if entry is None or entry.expires_at <= now:
        return None
    return "1h" if entry.lifetime_seconds == 3600 else "5m"


class RunningTenantPlanner:
    """The same planner with a running system's knowledge: one tenant's calls of the last hour, and a fixed guess of the next."""

    def __init__(self, rules: CacheRules, price: TokenRates) -> None:
        self._rules = rules
        self._price = price
        self._seen: dict[tuple[str, int], dict[int, float]] = {}
        self._sent: dict[int, set[int]] = {}

    def __call__(self, call: TracedCall, cached: CacheEntries) -> PlannedMarks:
        talk = call.talk
        agent = self._others("agent", talk.agent_id, call)
        tenant = self._others("tenant", talk.agent_id // 2, call)
        plan = plan_marks(
            tuple(self._pieces(call, cached)),
            rules=self._rules,
            rates=self._price,
            expectation=ReuseExpectation(NEXT_CALL, reuse_at_rate(0), reuse_at_rate(agent), reuse_at_rate(tenant)),
        )
        return PlannedMarks({at: mark for at, mark in enumerate(plan.marks) if mark})

    def _others(self, kind: str, number: int, call: TracedCall) -> int:
        """Return the number of other conversations that were active in the last hour."""
        seen = self._seen.setdefault((kind, number), {})
        seen[call.talk.talk_id] = call.at
        return sum(call.at - at < HOUR for at in seen.values()) - 1

    def _pieces(self, call: TracedCall, cached: CacheEntries) -> Iterator[PlannedBlock]:
        sent = self._sent.setdefault(call.talk.agent_id // 2, set())
        for node in call.path:
            held = _cached_lifetime(cached, node.prefix.digest, call.at) if node.number in sent else None
            sent.add(node.number)
            yield PlannedBlock(node.label, node.tokens, node.reach, node.kind, held)
