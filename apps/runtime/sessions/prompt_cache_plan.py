"""Plans the prompt cache for each model call of a turn: the positions of cache marks, and the expected bill (R181-R185).

A provider caches a prompt from its beginning up to a mark, for five minutes or for an hour. Reading cached tokens is cheap, but
writing them costs more than sending them uncached. The journal shows which prefixes this and other conversations left in the
cache, and how often other conversations sent the same bytes in the last hour. For each call the planner does four things:

1. It splits the request into blocks in hashing order (tools, frozen sections, messages), and hashes the prefix up to each block.
2. It looks up each prefix among those that earlier calls left in the cache.
3. It calls `plan_marks` to choose the marks that minimise the cost of this call and the next ones.
4. It predicts by the provider's published rules what the call reads and writes. The ledger compares the prediction with the bill.

An example. Three blocks: the agent's sections with 4,000 tokens, a customer profile with 500 and a first message with 200. Four
other conversations of the agent began in the last hour.

    call 1: nothing is cached   marks: 1h after the sections, 5m after the profile, 5m after the message
                                bill: 4,000 written for an hour, 700 for five minutes
    call 2, a minute later, adds a reply of 150 tokens and a message of 100
                                marks: 1h after the sections, the profile and the reply, 5m after the message
                                bill: 4,700 read, 150 written for an hour, 100 for five minutes

A wrong prediction makes a call more expensive but never changes its answer. After a worker restarts, the planner reads the
earlier calls from the journal again.
"""

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

# Half of all customers answer within 75 seconds (MEASUREMENTS A3), and a call that uses tools is followed by another at once.
NEXT_CALL = Reuse(soon=0.75, later=0.12)
# Token rates relative to the price of one uncached token, for a model whose price is not known.
PRICE_SHARES = TokenRates(Decimal(1), Decimal(5), Decimal("0.1"), Decimal("1.25"), Decimal(2))


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A model call that is about to be sent, with its expected bill by the provider's rules."""

    blocks: tuple[RequestBlock, ...]
    # The prefix of the prompt up to the end of each block.
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
        """The hash of the prefix that should be read from the cache; empty if none should."""
        expected_read = self.expected.read
        if not expected_read:
            return ""
        return next((prefix.digest.hex() for prefix in self.along if prefix.tokens == expected_read), "")

    @property
    def agent_prefix_sha256(self) -> str:
        """The hash of the prefix that is the same for all customers of the agent, tools included."""
        return _shared_prefix(PrefixScope.AGENT, self.blocks, self.along)

    @property
    def workspace_prefix_sha256(self) -> str:
        """The hash of the prefix that all agents share. It is nearly empty unless the contract comes first."""
        return _shared_prefix(PrefixScope.WORKSPACE, self.blocks, self.along)

    @property
    def block_hashes(self) -> tuple[str, ...]:
        """Short hashes of sampled prefixes. The first pair of hashes that differ shows where two calls begin to differ."""
        sampled = (self.along[index] for index in sampled_blocks(len(self.along)))
        return tuple(prefix.digest.hex()[:HASH_CHARACTERS] for prefix in sampled)

    @property
    def marks(self) -> tuple[CacheMark, ...]:
        """The cache marks of the call, in prompt order."""
        placed = zip(self.blocks, self.along, self.plan.marks, strict=True)
        return tuple(
            CacheMark(block.slot, block.message, lifetime, prefix.tokens)
            for block, prefix, lifetime in placed
            if lifetime
        )

    @property
    def entries(self) -> dict[str, list[int]]:
        """The prefixes that the call leaves in the cache: by hash, the lifetime in seconds and the length in tokens."""
        tokens = {prefix.digest: prefix.tokens for prefix in self.along}
        return {key.hex(): [entry.lifetime_seconds, tokens[key]] for key, entry in self.settled.entries.items()}


@dataclass(slots=True)
class PromptCachePlanner:
    """Plans the model calls of one turn, and tracks from call to call which prefixes are cached."""

    frozen: SessionPrefix
    model: str
    conversation_id: int
    actor: Actor
    # Earlier calls as they came with the claim. The first plan decodes them and then drops them.
    earlier_calls: EarlierCalls | None
    window_start: int = 0
    is_cut: bool = False
    rates: RateOverrides = field(default_factory=dict)
    # The cached prefixes; None before the first plan.
    earlier: CachedPrefixes | None = None
    # The last call that was planned.
    planned: PlannedCall | None = None

    def plan(self, messages: Sequence[JsonObject]) -> PlannedCall:
        """Plan the request for these messages. The frozen prefix is verified first."""
        self.frozen.verified()
        now = timezone.now()
        rules = cache_rules_for(self.model)
        blocks = self._place_blocks(messages)
        prefixes = tuple(hash_prefixes((each.block for each in blocks), self.model, rules))
        if self.earlier is None:
            self.earlier = self._find_earlier_calls(blocks, prefixes)
        price = price_of(self.model, self.rates)
        prompt_tokens = prefixes[-1].tokens
        plan = plan_marks(
            [_planned_block(block, prefix, self.earlier, now) for block, prefix in zip(blocks, prefixes, strict=True)],
            rules=rules,
            rates=price.rates_for(prompt_tokens) if price else PRICE_SHARES,
            expectation=_expectation(self.earlier),
        )
        marked = tuple(prefix.marked(mark) for prefix, mark in zip(prefixes, plan.marks, strict=True))
        settled = settle_prefixes(marked, cached=self.earlier.cached, rules=rules, now=now.timestamp())
        self.planned = PlannedCall(
            blocks=blocks, along=marked, plan=plan, settled=settled, messages=tuple(messages), requested_at=now
        )
        return self.planned

    def price(self, planned: PlannedCall) -> int:
        """The expected cost of the prompt in micro-dollars, without the reply; 0 if the model has no known price."""
        bill = planned.expected
        usage = Usage(bill.uncached, 0, bill.read, bill.written_5m, bill.written_1h)
        return cost_micro_usd(self.model, usage, self.rates) or 0

    def cost(self, reply: ModelReply) -> int | None:
        """The cost of a call in micro-dollars; None if the model has no known price."""
        return reply_cost_micro_usd(reply, self.rates)

    def keep(self, planned: PlannedCall, reply: ModelReply) -> None:
        """Add the prefixes that the call wrote to the cache, which can be read as soon as the response begins."""
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
        """The request's blocks. If the request only extends the last one, the last one's blocks are reused."""
        last = self.planned
        if last is None:
            return build_request_blocks(self.frozen, messages)
        continues_last = all(known is sent for known, sent in zip(last.messages, messages, strict=False))
        if not continues_last:
            return build_request_blocks(self.frozen, messages)
        return extend_request_blocks(last.blocks, messages, last.message_count)

    def _find_earlier_calls(self, blocks: Sequence[RequestBlock], along: Sequence[Prefix]) -> CachedPrefixes:
        prefixes = (
            _shared_prefix(PrefixScope.AGENT, blocks, along),
            _shared_prefix(PrefixScope.WORKSPACE, blocks, along),
        )
        earlier_calls, self.earlier_calls = self.earlier_calls, None
        earlier = find_earlier_calls(earlier_calls, self.conversation_id, prefixes, actor=self.actor)
        earlier.keep_only({prefix.digest for prefix in along})
        return earlier


def _planned_block(placed: RequestBlock, prefix: Prefix, earlier: CachedPrefixes, now: datetime) -> PlannedBlock:
    entry = earlier.cached.get(prefix.digest)
    held: CacheLifetime | None = None
    if entry and entry.expires_at > now.timestamp():
        held = "1h" if entry.lifetime_seconds == LIFETIME_SECONDS["1h"] else "5m"
    return PlannedBlock(placed.label, placed.block.tokens, placed.reach, kind=placed.block.kind, held=held)


def _expectation(earlier: CachedPrefixes) -> ReuseExpectation:
    """Estimate the reuse of prefixes: other conversations as often as in the last hour, and none by the same customer."""
    return ReuseExpectation(
        NEXT_CALL,
        customer=reuse_at_rate(0),
        agent=reuse_at_rate(earlier.agent_conversations),
        workspace=reuse_at_rate(earlier.shared_conversations),
    )


def _shared_prefix(reach: PrefixScope, blocks: Sequence[RequestBlock], along: Sequence[Prefix]) -> str:
    """The hash of the longest prefix whose scope is at most `reach`; empty if there is none."""
    shared = [prefix.digest for block, prefix in zip(blocks, along, strict=True) if block.reach <= reach]
    return shared[-1].hex() if shared else ""
