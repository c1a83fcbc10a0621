"""The prompt cache from one turn's side: where the marks go, and what the published rules let each call expect (R181-R185)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from django.utils import timezone

from apps.governance.actors import Actor
from apps.llm.cache_rules import LIFETIME_SECONDS, Bill, Prefix, Settled, prefixes, settle_prefixes
from apps.llm.model_backend import CacheLifetime, JsonObject, Reply, Usage
from apps.llm.prices import OwnRates, Rates, cache_rules, cost_micro_usd, price_of, priced
from apps.prompt.cache.breakpoints import Expectation, Piece, Plan, Reach, Reuse, plan_marks, reuse_at
from apps.prompt.cache.cost_attribution import Mark
from apps.runtime.sessions.request_blocks import Placed, placed, placed_behind
from apps.runtime.sessions.session_prefix import Frozen
from apps.runtime.turn_store.cached_prefixes import HASH_CHARACTERS, Before, Earlier, earlier_calls, sampled
from apps.runtime.turn_store.turn_context import Told

# Half of all customers answer within 75 seconds (MEASUREMENTS A3), and a call with tools is followed by another at once.
NEXT_CALL = Reuse(soon=0.75, later=0.12)
# What caching costs in shares of the price of a token, for a model whose price is not known.
SHARES = Rates(Decimal(1), Decimal(5), Decimal("0.1"), Decimal("1.25"), Decimal(2))


@dataclass(frozen=True, slots=True)
class Planned:
    """One call as it will be sent, with what the rules let expect of it."""

    blocks: tuple[Placed, ...]
    along: tuple[Prefix, ...]
    plan: Plan
    settled: Settled
    messages: tuple[JsonObject, ...]
    requested_at: datetime

    @property
    def message_count(self) -> int:
        return len(self.messages)

    @property
    def expected(self) -> Bill:
        return self.settled.bill

    @property
    def hit(self) -> str:
        """The hash of the prefix that should be read; empty if none should."""
        read = self.expected.read
        return next((prefix.digest.hex() for prefix in self.along if read and prefix.tokens == read), "")

    @property
    def agent_prefix_sha256(self) -> str:
        """The hash of what all customers of the agent share, tools included."""
        return _prefix_of(Reach.AGENT, self.blocks, self.along)

    @property
    def workspace_prefix_sha256(self) -> str:
        """The hash of what agents share; nearly nothing, unless the contract comes first."""
        return _prefix_of(Reach.WORKSPACE, self.blocks, self.along)

    @property
    def block_hashes(self) -> tuple[str, ...]:
        """Of some blocks the beginning of the hash of the prompt up to its end: none before the change differs."""
        return tuple(self.along[place].digest.hex()[:HASH_CHARACTERS] for place in sampled(len(self.along)))

    @property
    def marks(self) -> tuple[Mark, ...]:
        """Where the prompt was cut for the cache, from its beginning on."""
        placed = zip(self.blocks, self.along, self.plan.marks, strict=True)
        return tuple(Mark(block.slot, block.message, mark, end.tokens) for block, end, mark in placed if mark)

    @property
    def entries(self) -> dict[str, list[int]]:
        """What the call leaves cached: the hash of each prefix, its lifetime in seconds and its length in tokens."""
        tokens = {prefix.digest: prefix.tokens for prefix in self.along}
        return {key.hex(): [entry.lifetime_seconds, tokens[key]] for key, entry in self.settled.entries.items()}


@dataclass(slots=True)
class Account:
    """What is cached of a conversation's prompt as far as its own calls tell, kept from call to call."""

    frozen: Frozen
    model: str
    conversation_id: int
    actor: Actor
    brought: Told
    window_start: int = 0
    is_cut: bool = False
    rates: OwnRates = field(default_factory=dict)
    earlier: Earlier | None = None
    planned: Planned | None = None

    def plan(self, messages: Sequence[JsonObject]) -> Planned:
        """The request for these messages: the frozen prefix, verified, under the marks that pay."""
        self.frozen.verified()
        now = timezone.now()
        blocks, rules = self._placed(messages), cache_rules(self.model)
        along = tuple(prefixes((each.block for each in blocks), self.model, rules))
        earlier = self.earlier = self.earlier or self._look_up(blocks, along)
        price = price_of(self.model, self.rates)
        plan = plan_marks(
            [_piece(block, prefix, earlier, now) for block, prefix in zip(blocks, along, strict=True)],
            rules=rules,
            rates=price.rates_for(along[-1].tokens) if price else SHARES,
            expectation=_expectation(earlier),
        )
        along = tuple(prefix.marked(mark) for prefix, mark in zip(along, plan.marks, strict=True))
        settled = settle_prefixes(along, cached=earlier.cached, rules=rules, now=now.timestamp())
        self.planned = Planned(blocks, along, plan, settled, tuple(messages), requested_at=now)
        return self.planned

    def price(self, planned: Planned) -> int:
        """What the prompt should cost in micro-dollars, without the reply; 0 where no price is known."""
        bill = planned.expected
        usage = Usage(bill.uncached, 0, bill.read, bill.written_5m, bill.written_1h)
        return cost_micro_usd(self.model, usage, self.rates) or 0

    def cost(self, reply: Reply) -> int | None:
        """What a call did cost in micro-dollars; None where that is not known."""
        return priced(reply, self.rates)

    def keep(self, planned: Planned, reply: Reply) -> None:
        """The response began, so what the call wrote can be read from now on."""
        earlier = self.earlier or Earlier()
        earlier.keep(planned.entries, planned.requested_at, reply.usage.cached_tokens)
        earlier.before = Before(
            session_id=self.frozen.session.pk,
            model=self.model,
            is_stand_in=reply.is_stand_in,
            window_start=self.window_start,
            message_count=planned.message_count,
            requested_at=planned.requested_at,
            entries=planned.entries,
            block_hashes=planned.block_hashes,
            messages=planned.messages,
        )
        self.earlier = earlier

    def _placed(self, messages: Sequence[JsonObject]) -> tuple[Placed, ...]:
        """The request's blocks; a turn's later calls only add to what its first one sent."""
        last = self.planned
        if last and all(known is sent for known, sent in zip(last.messages, messages, strict=False)):
            return placed_behind(last.blocks, messages, last.message_count)
        return placed(self.frozen, messages)

    def _look_up(self, blocks: Sequence[Placed], along: Sequence[Prefix]) -> Earlier:
        shared = _prefix_of(Reach.AGENT, blocks, along)
        workspace = _prefix_of(Reach.WORKSPACE, blocks, along)
        brought, self.brought = self.brought, {}
        earlier = earlier_calls(brought, self.conversation_id, shared, workspace, actor=self.actor)
        earlier.keep_only({prefix.digest for prefix in along})
        return earlier


def _piece(placed_block: Placed, prefix: Prefix, earlier: Earlier, now: datetime) -> Piece:
    entry = earlier.cached.get(prefix.digest)
    held: CacheLifetime | None = None
    if entry and entry.expires_at > now.timestamp():
        held = "1h" if entry.lifetime_seconds == LIFETIME_SECONDS["1h"] else "5m"
    block = placed_block.block
    return Piece(placed_block.label, block.tokens, placed_block.reach, block.kind, held)


def _expectation(earlier: Earlier) -> Expectation:
    """Others will write as often as they did in the last hour; a customer seldom holds two conversations at once."""
    return Expectation(
        NEXT_CALL,
        customer=reuse_at(0),
        agent=reuse_at(earlier.agents_talks),
        workspace=reuse_at(earlier.everybodys_talks),
    )


def _prefix_of(reach: Reach, blocks: Sequence[Placed], along: Sequence[Prefix]) -> str:
    shared = [prefix.digest for block, prefix in zip(blocks, along, strict=True) if block.reach <= reach]
    return shared[-1].hex() if shared else ""
