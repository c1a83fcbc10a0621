"""The prompt cache from one turn's side: where the marks go, and what the published rules let each call expect (R181-R185)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from django.utils import timezone

from apps.governance.actors import Actor
from apps.llm.cache_rules import LIFETIME_SECONDS, CacheSettlement, Prefix, TokenBill, hash_prefixes, settle_prefixes
from apps.llm.model_backend import CacheLifetime, JsonObject, ModelReply, Usage
from apps.llm.prices import RateOverrides, TokenRates, cache_rules_for, cost_micro_usd, price_of, reply_cost_micro_usd
from apps.prompt.cache.breakpoints import (
    BreakpointPlan,
    PlannedBlock,
    PrefixScope,
    Reuse,
    ReuseExpectation,
    plan_marks,
    reuse_at_rate,
)
from apps.prompt.cache.cost_attribution import CacheMark
from apps.runtime.sessions.request_blocks import RequestBlock, build_request_blocks, extend_request_blocks
from apps.runtime.sessions.session_prefix import SessionPrefix
from apps.runtime.turn_store.cached_prefixes import (
    HASH_CHARACTERS,
    CachedPrefixes,
    EarlierCalls,
    PreviousCall,
    find_earlier_calls,
    sampled_blocks,
)

# Half of all customers answer within 75 seconds (MEASUREMENTS A3), and a call with tools is followed by another at once.
NEXT_CALL = Reuse(soon=0.75, later=0.12)
# What caching costs in shares of the price of a token, for a model whose price is not known.
PRICE_SHARES = TokenRates(Decimal(1), Decimal(5), Decimal("0.1"), Decimal("1.25"), Decimal(2))


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """One call as it will be sent, with what the rules let expect of it."""

    blocks: tuple[RequestBlock, ...]
    along: tuple[Prefix, ...]
    plan: BreakpointPlan
    settled: CacheSettlement
    messages: tuple[JsonObject, ...]
    requested_at: datetime

    @property
    def message_count(self) -> int:
        return len(self.messages)

    @property
    def expected(self) -> TokenBill:
        return self.settled.bill

    @property
    def hit(self) -> str:
        """The hash of the prefix that should be read; empty if none should."""
        read = self.expected.read
        return next((prefix.digest.hex() for prefix in self.along if read and prefix.tokens == read), "")

    @property
    def agent_prefix_sha256(self) -> str:
        """The hash of what all customers of the agent share, tools included."""
        return _shared_prefix(PrefixScope.AGENT, self.blocks, self.along)

    @property
    def workspace_prefix_sha256(self) -> str:
        """The hash of what agents share; nearly nothing, unless the contract comes first."""
        return _shared_prefix(PrefixScope.WORKSPACE, self.blocks, self.along)

    @property
    def block_hashes(self) -> tuple[str, ...]:
        """Of some blocks the beginning of the hash of the prompt up to its end: none before the change differs."""
        return tuple(self.along[place].digest.hex()[:HASH_CHARACTERS] for place in sampled_blocks(len(self.along)))

    @property
    def marks(self) -> tuple[CacheMark, ...]:
        """Where the prompt was cut for the cache, from its beginning on."""
        placed = zip(self.blocks, self.along, self.plan.marks, strict=True)
        return tuple(CacheMark(block.slot, block.message, mark, end.tokens) for block, end, mark in placed if mark)

    @property
    def entries(self) -> dict[str, list[int]]:
        """What the call leaves cached: the hash of each prefix, its lifetime in seconds and its length in tokens."""
        tokens = {prefix.digest: prefix.tokens for prefix in self.along}
        return {key.hex(): [entry.lifetime_seconds, tokens[key]] for key, entry in self.settled.entries.items()}


@dataclass(slots=True)
class PromptCachePlanner:
    """What is cached of a conversation's prompt as far as its own calls tell, kept from call to call."""

    frozen: SessionPrefix
    model: str
    conversation_id: int
    actor: Actor
    earlier_calls: EarlierCalls | None
    window_start: int = 0
    is_cut: bool = False
    rates: RateOverrides = field(default_factory=dict)
    earlier: CachedPrefixes | None = None
    planned: PlannedCall | None = None

    def plan(self, messages: Sequence[JsonObject]) -> PlannedCall:
        """The request for these messages: the frozen prefix, verified, under the marks that pay."""
        self.frozen.verified()
        now = timezone.now()
        blocks, rules = self._place_blocks(messages), cache_rules_for(self.model)
        along = tuple(hash_prefixes((each.block for each in blocks), self.model, rules))
        earlier = self.earlier = self.earlier or self._find_earlier_calls(blocks, along)
        price = price_of(self.model, self.rates)
        plan = plan_marks(
            [_piece(block, prefix, earlier, now) for block, prefix in zip(blocks, along, strict=True)],
            rules=rules,
            rates=price.rates_for(along[-1].tokens) if price else PRICE_SHARES,
            expectation=_expectation(earlier),
        )
        along = tuple(prefix.marked(mark) for prefix, mark in zip(along, plan.marks, strict=True))
        settled = settle_prefixes(along, cached=earlier.cached, rules=rules, now=now.timestamp())
        self.planned = PlannedCall(blocks, along, plan, settled, tuple(messages), requested_at=now)
        return self.planned

    def price(self, planned: PlannedCall) -> int:
        """What the prompt should cost in micro-dollars, without the reply; 0 where no price is known."""
        bill = planned.expected
        usage = Usage(bill.uncached, 0, bill.read, bill.written_5m, bill.written_1h)
        return cost_micro_usd(self.model, usage, self.rates) or 0

    def cost(self, reply: ModelReply) -> int | None:
        """What a call did cost in micro-dollars; None where that is not known."""
        return reply_cost_micro_usd(reply, self.rates)

    def keep(self, planned: PlannedCall, reply: ModelReply) -> None:
        """The response began, so what the call wrote can be read from now on."""
        earlier = self.earlier or CachedPrefixes()
        earlier.keep(planned.entries, planned.requested_at, reply.usage.cached_tokens)
        earlier.before = PreviousCall(
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

    def _place_blocks(self, messages: Sequence[JsonObject]) -> tuple[RequestBlock, ...]:
        """The request's blocks; a turn's later calls only add to what its first one sent."""
        last = self.planned
        if last and all(known is sent for known, sent in zip(last.messages, messages, strict=False)):
            return extend_request_blocks(last.blocks, messages, last.message_count)
        return build_request_blocks(self.frozen, messages)

    def _find_earlier_calls(self, blocks: Sequence[RequestBlock], along: Sequence[Prefix]) -> CachedPrefixes:
        prefixes = (
            _shared_prefix(PrefixScope.AGENT, blocks, along),
            _shared_prefix(PrefixScope.WORKSPACE, blocks, along),
        )
        earlier_calls, self.earlier_calls = self.earlier_calls, None
        earlier = find_earlier_calls(earlier_calls, self.conversation_id, prefixes, actor=self.actor)
        earlier.keep_only({prefix.digest for prefix in along})
        return earlier


def _piece(placed_block: RequestBlock, prefix: Prefix, earlier: CachedPrefixes, now: datetime) -> PlannedBlock:
    entry = earlier.cached.get(prefix.digest)
    held: CacheLifetime | None = None
    if entry and entry.expires_at > now.timestamp():
        held = "1h" if entry.lifetime_seconds == LIFETIME_SECONDS["1h"] else "5m"
    block = placed_block.block
    return PlannedBlock(placed_block.label, block.tokens, placed_block.reach, block.kind, held)


def _expectation(earlier: CachedPrefixes) -> ReuseExpectation:
    """Others will write as often as they did in the last hour; a customer seldom holds two conversations at once."""
    return ReuseExpectation(
        NEXT_CALL,
        customer=reuse_at_rate(0),
        agent=reuse_at_rate(earlier.agent_conversations),
        workspace=reuse_at_rate(earlier.shared_conversations),
    )


def _shared_prefix(reach: PrefixScope, blocks: Sequence[RequestBlock], along: Sequence[Prefix]) -> str:
    shared = [prefix.digest for block, prefix in zip(blocks, along, strict=True) if block.reach <= reach]
    return shared[-1].hex() if shared else ""
