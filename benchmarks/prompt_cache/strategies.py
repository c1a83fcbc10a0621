"""Where others put their marks, and where the product does."""

from collections.abc import Iterator
from typing import Final

from apps.llm.cache_rules import CacheRules
from apps.llm.prices import Rates
from apps.prompt.cache.breakpoints import Expectation, Lifetime, Piece, Reach, Reuse, plan_marks, reuse_at
from benchmarks.prompt_cache.billing import Cached, Marks, Planned
from benchmarks.prompt_cache.lower_bound import HOUR
from benchmarks.prompt_cache.request_trie import Call
from benchmarks.prompt_cache.reuse_rates import Observed

NEXT_CALL: Final = Reuse(soon=0.75, later=0.12)


def no_marks(call: Call, cached: Cached) -> Planned:  # noqa: ARG001 - every strategy takes both
    return Planned({})


def one_mark(call: Call, cached: Cached) -> Planned:  # noqa: ARG001
    """Five minutes, behind the system prompt."""
    return Planned({_last(call, Reach.CUSTOMER): "5m"})


def automatic(call: Call, cached: Cached) -> Planned:  # noqa: ARG001
    """Five minutes, on whatever comes last."""
    return Planned({len(call.path) - 1: "5m"})


def fixed(call: Call, cached: Cached) -> Planned:  # noqa: ARG001
    """The four marks without a plan: A, B and the last user block for an hour, the tail for five minutes."""
    asked = max(at for at, node in enumerate(call.path) if node.kind == "text" and node.reach is Reach.CONVERSATION)
    marks: Marks = {len(call.path) - 1: "5m"}
    hours: Marks = {_last(call, Reach.AGENT): "1h", _last(call, Reach.CUSTOMER): "1h", asked: "1h"}
    return Planned({**marks, **hours})


def _last(call: Call, reach: Reach) -> int:
    return max(at for at, node in enumerate(call.path) if node.reach <= reach)


class Planner:
    """The product's own plan, which knows what it wrote before and how often it was needed again."""

    def __init__(self, rules: CacheRules, price: Rates) -> None:
        self._rules = rules
        self._price = price
        self._observed = Observed()

    def __call__(self, call: Call, cached: Cached) -> Planned:
        expectation = self._observed.expectation(call)
        pieces = tuple(
            Piece(node.label, node.tokens, node.reach, node.kind, _held(cached, node.prefix.digest, call.at))
            for node in call.path
        )
        plan = plan_marks(pieces, rules=self._rules, rates=self._price, expectation=expectation)
        return Planned({at: mark for at, mark in enumerate(plan.marks) if mark}, plan.expected)


def _held(cached: Cached, digest: bytes, now: float) -> Lifetime | None:
    entry = cached.get(digest)
    if entry is None or entry.expires_at <= now:
        return None
    return "1h" if entry.lifetime_seconds == 3600 else "5m"


class TenantPlanner:
    """The same plan with what a running system knows: one tenant's calls of the last hour, and a fixed guess of the next one."""

    def __init__(self, rules: CacheRules, price: Rates) -> None:
        self._rules = rules
        self._price = price
        self._seen: dict[tuple[str, int], dict[int, float]] = {}
        self._sent: dict[int, set[int]] = {}

    def __call__(self, call: Call, cached: Cached) -> Planned:
        talk = call.talk
        agent = self._others("agent", talk.agent_id, call)
        tenant = self._others("tenant", talk.agent_id // 2, call)
        plan = plan_marks(
            tuple(self._pieces(call, cached)),
            rules=self._rules,
            rates=self._price,
            expectation=Expectation(NEXT_CALL, reuse_at(0), reuse_at(agent), reuse_at(tenant)),
        )
        return Planned({at: mark for at, mark in enumerate(plan.marks) if mark})

    def _others(self, kind: str, number: int, call: Call) -> int:
        """Conversations that were active in the last hour."""
        seen = self._seen.setdefault((kind, number), {})
        seen[call.talk.talk_id] = call.at
        return sum(call.at - at < HOUR for at in seen.values()) - 1

    def _pieces(self, call: Call, cached: Cached) -> Iterator[Piece]:
        sent = self._sent.setdefault(call.talk.agent_id // 2, set())
        for node in call.path:
            held = _held(cached, node.prefix.digest, call.at) if node.number in sent else None
            sent.add(node.number)
            yield Piece(node.label, node.tokens, node.reach, node.kind, held)
