"""The prompt cache ledger: the tokens that each call should have read from the cache, the bill, and causes of misses (R185)."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from django.db import DatabaseError

from apps.governance.database.actor_transaction import acting_as
from apps.llm.model_backend import JsonObject, ModelReply
from apps.llm.prices import price_of
from apps.prompt.cache.cost_attribution import ChargedTokens, FirstDifference, SentBlock, charge_slots, first_difference
from apps.prompt.prompt_input import SEPARATOR, Slot
from apps.runtime.models import Session
from apps.runtime.sessions.prompt_cache_plan import PlannedCall, PromptCachePlanner
from apps.runtime.sessions.request_blocks import RequestBlock, build_request_blocks
from apps.runtime.sessions.session_prefix import PrefixChanged, SessionPrefix, load_prefix
from apps.runtime.turn_store.cached_prefixes import CachedPrefixes, PreviousCall, encode_entries, sampled_blocks
from apps.runtime.turn_store.journal_rows import CallNotes
from apps.runtime.turn_store.turn_journal import read_history

logger = logging.getLogger(__name__)

# The provider counts tokens in its own way, so a small difference does not count as a miss.
TOLERATED_TOKENS = 64
TOLERATED_SHARE = 0.02


@dataclass(frozen=True, slots=True)
class CacheMiss:
    """A cache miss: tokens that should have been read from the cache and were not. `is_expected` if a known cause explains it."""

    cause: str
    detail: str
    tokens: int
    is_expected: bool
    where: FirstDifference | None = None

    @property
    def stored(self) -> JsonObject:
        found: JsonObject = {"cause": self.cause, "detail": self.detail, "tokens": self.tokens}
        if self.where:
            source = self.where.segment.source if self.where.segment else None
            found |= {"slot": self.where.slot.value, "label": self.where.label, "byte": self.where.byte}
            found["owner"] = asdict(source) if source else None
        return found


def build_call_notes(planned: PlannedCall, reply: ModelReply, account: PromptCachePlanner) -> CallNotes:
    """The notes on a call that are stored with its usage. An error while finding a miss never loses the paid answer."""
    usage = reply.usage
    billed = ChargedTokens(usage.cache_read_tokens, usage.cache_write_tokens, usage.input_tokens)
    expected_read = _expected_read(planned, billed, account)
    miss = _try_find_miss(planned, billed, reply, account)
    sizes = ((each.slot, each.block.tokens) for each in planned.blocks)
    # Without a price, the plan's cost is in shares of a token's price, not in money.
    is_priced = price_of(account.model, account.rates) is not None
    ledger: JsonObject = {
        "expected": {name: tokens for name, tokens in asdict(planned.expected).items() if tokens},
        "expected_cost_micro_usd": round(planned.plan.expected.cost_micro_usd) if is_priced else None,
        "slots": ";".join(charge.line for charge in charge_slots(sizes, expected_read, billed)),
        "marks": ";".join(mark.line for mark in planned.marks),
        "model": account.model,
        "block_hashes": "".join(planned.block_hashes),
        "history_window": [account.window_start, planned.message_count],
    }
    if planned.plan.shortfalls:
        ledger["shortfalls"] = [asdict(short) for short in planned.plan.shortfalls]
    ledger |= {"miss": miss.stored} if miss else {}
    return CallNotes(
        requested_at=planned.requested_at,
        agent_prefix_sha256=planned.agent_prefix_sha256,
        workspace_prefix_sha256=planned.workspace_prefix_sha256,
        expected_read_tokens=expected_read,
        has_unexpected_miss=bool(miss and not miss.is_expected),
        cache_entries=encode_entries(planned.entries),
        cache_ledger=ledger,
    )


def _expected_read(planned: PlannedCall, billed: ChargedTokens, account: PromptCachePlanner) -> int:
    """The tokens that the call should have read from the cache: as the provider measured before, else as estimated."""
    measured = account.earlier.measured.get(planned.hit) if account.earlier else None
    scale = billed.total / max(planned.along[-1].tokens, 1)
    return round(planned.expected.read * scale) if measured is None else measured


def _try_find_miss(
    planned: PlannedCall, billed: ChargedTokens, reply: ModelReply, account: PromptCachePlanner
) -> CacheMiss | None:
    try:
        return _find_miss(planned, billed, reply, account)
    except (DatabaseError, PrefixChanged, KeyError, TypeError, ValueError) as error:
        logger.warning("cache miss could not be explained", extra={"error": type(error).__name__})
        sentence = "The cache should have held more of the prompt. The previous call cannot be read, so the cause is not known."
        return CacheMiss("unexplained", sentence, 0, is_expected=False)


def _find_miss(
    planned: PlannedCall, billed: ChargedTokens, reply: ModelReply, account: PromptCachePlanner
) -> CacheMiss | None:
    """The cache miss of a call, or None. Prefix lengths measured by the provider are compared, since estimates vary by text."""
    earlier = account.earlier or CachedPrefixes()
    before, tolerated = earlier.before, max(TOLERATED_TOKENS, TOLERATED_SHARE * billed.total)
    left = earlier.measured.get(before.longest_live(planned.requested_at), 0) if before else 0
    should = earlier.measured.get(planned.hit, planned.expected.read if not billed.read else 0)
    unread = should - billed.read
    if before and left - billed.read > tolerated:
        return _explain_miss(before, planned, left - billed.read, reply, account, is_held=unread <= tolerated)
    if unread > tolerated and not (before and before.is_stand_in != reply.is_stand_in):
        sentence = "Another conversation had cached this prefix, and the provider did not have it any more, or not yet."
        return CacheMiss("not_cached", sentence, unread, is_expected=False)
    return None


def _explain_miss(
    before: PreviousCall,
    planned: PlannedCall,
    lost: int,
    reply: ModelReply,
    account: PromptCachePlanner,
    *,
    is_held: bool,
) -> CacheMiss:
    if before.model != account.model or before.is_stand_in != reply.is_stand_in:
        asked = before.model if before.model != account.model else "another endpoint"
        return CacheMiss(
            "another_model", f"The previous call went to {asked}; models share no cache.", lost, is_expected=True
        )
    frozen, messages = _previous_request(before, account)
    where = first_difference(
        tuple(_sent_blocks(frozen, build_request_blocks(frozen, messages))),
        tuple(_sent_blocks(account.frozen, planned.blocks)),
    )
    if not before.is_kept and (where is None or where.slot is Slot.TURN):
        sentence = "The previous turn failed or was claimed again, so its messages were not kept."
        return CacheMiss("turn_repeated", sentence, lost, is_expected=True, where=where)
    if where is None:
        return _explain_without_difference(before, planned, lost, is_held=is_held)
    if frozen.session.pk != account.frozen.session.pk:
        return CacheMiss(
            "new_session", f"A new session began. {_describe_parting(where)}", lost, is_expected=True, where=where
        )
    return _explain_change(before, where, lost, account)


def _explain_change(before: PreviousCall, where: FirstDifference, lost: int, account: PromptCachePlanner) -> CacheMiss:
    """The cause of a difference between two requests of one session."""
    if where.slot is Slot.TURN and before.window_start != account.window_start:
        return CacheMiss(
            "history_cut", "The oldest part of the history was left out.", lost, is_expected=True, where=where
        )
    if where.slot is Slot.TURN and account.is_cut:
        sentence = "A learning version was withdrawn, so its bullets were left out of the history."
        return CacheMiss("learning_withdrawn", sentence, lost, is_expected=True, where=where)
    sentence = f"The request changed within its session. {_describe_parting(where)}"
    return CacheMiss("bytes_changed", sentence, lost, is_expected=False, where=where)


def _explain_without_difference(before: PreviousCall, planned: PlannedCall, lost: int, *, is_held: bool) -> CacheMiss:
    """The cause if the journal shows no difference: the bytes are equal, or the journal's copy of the call changed too."""
    places = zip(before.block_hashes, planned.block_hashes, sampled_blocks(len(planned.blocks)), strict=False)
    changed = next((planned.blocks[place] for old, new, place in places if old != new), None)
    if changed:
        where = FirstDifference(changed.slot, changed.label, 0, None)
        sentence = f"The content of {changed.label} differs from the previous call, and the journal's copy of it changed as well."
        return CacheMiss("bytes_changed", sentence, lost, is_expected=False, where=where)
    if is_held:
        return CacheMiss(
            "look_back", "No cache mark was near enough to find the cached prefix.", lost, is_expected=True
        )
    sentence = "The bytes are the same as in the call before; the provider did not have them any more."
    return CacheMiss("not_cached", sentence, lost, is_expected=False)


def _describe_parting(where: FirstDifference) -> str:
    source = where.segment.source if where.segment else None
    if source is None:
        named = f" ({where.segment.template})" if where.segment else ""
        return f"It differs first at byte {where.byte} of {where.label}{named}."
    record = f"{source.record_type} {source.record_id} {source.field}".strip()
    return f"It differs first at byte {where.byte} of {where.label}: {record}, version {source.version}, by {source.author}."


def _previous_request(before: PreviousCall, account: PromptCachePlanner) -> tuple[SessionPrefix, Sequence[JsonObject]]:
    """The previous request as it was sent: from memory if it belongs to this turn, else from the journal."""
    if before.messages is not None:
        return account.frozen, before.messages
    with acting_as(account.actor):
        session = Session.objects.select_related("tools", "conversation").get(pk=before.session_id)
        history = read_history(session.conversation, actor=account.actor)
        return load_prefix(session), history[before.window_start : before.window_start + before.message_count]


def _sent_blocks(frozen: SessionPrefix, blocks: Sequence[RequestBlock]) -> Iterator[SentBlock]:
    parts = {part.slot: part for part in frozen.assembled.parts}
    first = next(iter(parts), None)
    for each in blocks:
        part = parts.get(each.slot)
        if part is None:
            yield SentBlock(each.slot, each.label, each.block.content, each.block.tokens)
        else:
            lead = "" if each.slot is first else SEPARATOR
            yield SentBlock(each.slot, each.label, (lead + part.text).encode(), each.block.tokens, part, len(lead))
