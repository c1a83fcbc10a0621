"""The prompt cache from one turn's side: where the marks go, and what the published rules let each call expect (R181-R185)."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal

from django.utils import timezone

from apps.governance.acting import acting
from apps.governance.actors import Actor
from apps.llm.backend import CacheLifetime, JsonObject, MessageMark, SystemBlock, Tool
from apps.llm.caching import LIFETIME_SECONDS, Bill, Entry, Prefix, Settled, prefixes, settle_prefixes
from apps.llm.prices import Rates, cache_rules, price_of
from apps.prompt.breakpoints import Expectation, Piece, Plan, Reach, Reuse, plan_marks, reuse_at
from apps.prompt.values import Slot
from apps.runtime.models import ModelCall
from apps.runtime.requests import Placed, placed
from apps.runtime.sessions import Frozen

HOUR = timedelta(hours=1)
OWN_CALLS = 20
OTHERS_CALLS = 40
HASH_CHARACTERS = 12
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
    tools: tuple[Tool, ...]
    system: tuple[SystemBlock, ...]
    message_marks: tuple[MessageMark, ...]
    messages: tuple[JsonObject, ...]
    requested_at: datetime

    @property
    def message_count(self) -> int:
        return len(self.messages)

    @property
    def expected(self) -> Bill:
        return self.settled.bill

    @property
    def shared_sha256(self) -> str:
        """The hash of what all customers of the agent share, tools included."""
        return _prefix_of(Reach.AGENT, self.blocks, self.along)

    @property
    def workspace_sha256(self) -> str:
        """The hash of what agents share; nearly nothing, unless the contract comes first."""
        return _prefix_of(Reach.WORKSPACE, self.blocks, self.along)

    @property
    def block_hashes(self) -> tuple[str, ...]:
        """The beginning of each block's hash: enough to say which one changed."""
        return tuple(hashlib.sha256(each.block.content).hexdigest()[:HASH_CHARACTERS] for each in self.blocks)

    @property
    def entries(self) -> dict[str, list[int]]:
        """What the call leaves cached: the hash of each prefix, its lifetime in seconds and its length in tokens."""
        tokens = {prefix.digest: prefix.tokens for prefix in self.along}
        return {key.hex(): [entry.lifetime_seconds, tokens[key]] for key, entry in self.settled.entries.items()}


@dataclass(frozen=True, slots=True)
class Before:
    """The conversation's call before: what it sent and what it left cached. `messages` is None for one of an earlier turn."""

    session_id: int
    model: str
    window_start: int
    message_count: int
    requested_at: datetime
    entries: Mapping[str, Sequence[int]]
    block_hashes: tuple[str, ...]
    messages: tuple[JsonObject, ...] | None = None

    def live_tokens(self, now: datetime) -> int:
        """The longest prefix it left that is still kept, in tokens as estimated."""
        age = (now - self.requested_at).total_seconds()
        return max((tokens for seconds, tokens in self.entries.values() if seconds > age), default=0)


@dataclass(slots=True)
class Account:
    """What is cached of a conversation's prompt as far as its own calls tell, kept from call to call."""

    frozen: Frozen
    model: str
    conversation_id: int
    actor: Actor
    window_start: int = 0
    before: Before | None = None
    cached: dict[bytes, Entry] = field(default_factory=dict)
    agents_talks: int = 0
    everybodys_talks: int = 0
    is_looked_up: bool = False

    def plan(self, messages: Sequence[JsonObject]) -> Planned:
        """The request for these messages: the frozen prefix, verified, under the marks that pay."""
        frozen, now = self.frozen.verified(), timezone.now()
        blocks, rules = placed(frozen, messages), cache_rules(self.model)
        along = tuple(prefixes((each.block for each in blocks), self.model, rules))
        if not self.is_looked_up:
            self._look_up(blocks, along, now)
            self.is_looked_up = True
        price = price_of(self.model)
        plan = plan_marks(
            [self._piece(block, prefix, now) for block, prefix in zip(blocks, along, strict=True)],
            rules=rules,
            rates=price.rates_for(along[-1].tokens) if price else SHARES,
            expectation=self._expectation(),
        )
        along = tuple(replace(prefix, mark=mark) for prefix, mark in zip(along, plan.marks, strict=True))
        settled = settle_prefixes(along, cached=self.cached, rules=rules, now=now.timestamp())
        system_marks = [prefix.mark for block, prefix in zip(blocks, along, strict=True) if block.is_system]
        tool_marks = [prefix.mark for block, prefix in zip(blocks, along, strict=True) if block.slot is Slot.TOOLS]
        return Planned(
            blocks=blocks,
            along=along,
            plan=plan,
            settled=settled,
            tools=tuple(replace(tool, cache=at) for tool, at in zip(frozen.definitions, tool_marks, strict=True)),
            system=tuple(map(SystemBlock, frozen.assembled.blocks, system_marks)),
            message_marks=tuple(_message_marks(blocks, along)),
            messages=tuple(messages),
            requested_at=now,
        )

    def keep(self, planned: Planned) -> None:
        """The response began, so what the call wrote can be read from now on."""
        self.cached |= planned.settled.entries
        self.before = Before(
            self.frozen.session.pk,
            self.model,
            self.window_start,
            planned.message_count,
            planned.requested_at,
            planned.entries,
            planned.block_hashes,
            planned.messages,
        )

    def _piece(self, placed_block: Placed, prefix: Prefix, now: datetime) -> Piece:
        entry = self.cached.get(prefix.digest)
        held: CacheLifetime | None = None
        if entry and entry.expires_at > now.timestamp():
            held = "1h" if entry.lifetime_seconds == LIFETIME_SECONDS["1h"] else "5m"
        block = placed_block.block
        return Piece(placed_block.label, block.tokens, placed_block.reach, block.kind, held)

    def _expectation(self) -> Expectation:
        """Others will write as often as they did in the last hour; a customer seldom holds two conversations at once."""
        return Expectation(
            NEXT_CALL,
            customer=reuse_at(0),
            agent=reuse_at(self.agents_talks),
            workspace=reuse_at(self.everybodys_talks),
        )

    def _look_up(self, blocks: Sequence[Placed], along: Sequence[Prefix], now: datetime) -> None:
        """What this conversation, and others that begin with the same bytes, left cached within the hour."""
        shared = _prefix_of(Reach.AGENT, blocks, along)
        workspace = _prefix_of(Reach.WORKSPACE, blocks, along)
        with acting(self.actor):
            recent = (
                ModelCall.objects.filter(tenant_id=self.actor.tenant_id, requested_at__gt=now - HOUR)
                .exclude(turn__session=None)
                .select_related("turn")
                .order_by("-id")
            )
            mine = list(recent.filter(turn__conversation=self.conversation_id)[:OWN_CALLS])
            agents = list(recent.filter(shared_sha256=shared)[:OTHERS_CALLS])
            everybodys = list(recent.filter(workspace_sha256=workspace)[:OTHERS_CALLS])
        self.before = _before(mine[0]) if mine else None
        self.agents_talks = self._others(agents)
        self.everybodys_talks = self._others(everybodys)
        for left in map(_before, sorted([*mine, *agents, *everybodys], key=lambda call: call.pk)):
            for key, (seconds, _tokens) in left.entries.items():
                self.cached[bytes.fromhex(key)] = Entry(seconds, left.requested_at.timestamp() + seconds)

    def _others(self, calls: Sequence[ModelCall]) -> int:
        return len({call.turn.conversation_id for call in calls} - {self.conversation_id})


def _before(call: ModelCall) -> Before:
    start, count = call.ledger["window"]
    session_id, requested_at = call.turn.session_id, call.requested_at
    # The query asks for calls that have both.
    assert session_id is not None and requested_at is not None  # noqa: PT018, S101
    return Before(
        session_id, call.ledger["model"], start, count, requested_at, call.entries, tuple(call.ledger["blocks"].split())
    )


def _prefix_of(reach: Reach, blocks: Sequence[Placed], along: Sequence[Prefix]) -> str:
    shared = [prefix.digest for block, prefix in zip(blocks, along, strict=True) if block.reach <= reach]
    return shared[-1].hex() if shared else ""


def _message_marks(blocks: Sequence[Placed], along: Sequence[Prefix]) -> Iterator[MessageMark]:
    for block, prefix in zip(blocks, along, strict=True):
        if prefix.mark and block.message >= 0:
            yield MessageMark(block.message, block.number, prefix.mark)
