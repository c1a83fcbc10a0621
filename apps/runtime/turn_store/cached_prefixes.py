"""What earlier calls left in the prompt cache, as the journal tells. What it forgets makes a plan dearer, never wrong."""

import json
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from operator import itemgetter

from django.db import DatabaseError

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import execute_as
from apps.llm.cache_rules import CacheEntry
from apps.llm.model_backend import JsonObject
from apps.runtime.models import Turn
from apps.runtime.turn_store.claim_query import EARLIER_CALLS
from apps.runtime.turn_store.turn_context import JsonRow

logger = logging.getLogger(__name__)

OWN_TURNS = 10
OTHERS_CALLS = 40
# How much of a prefix's hash the books keep. One follows the other, so two that look alike by chance are told apart a block later.
HASH_CHARACTERS = 4
# An answer takes a while to begin, and a clock is never quite another's.
GRACE_SECONDS = 5.0


def sampled_blocks(blocks: int) -> tuple[int, ...]:
    """The blocks of a request whose prefixes the books keep the hashes of: the prompt's own, and of a long history every eighth."""
    return (*range(min(blocks, 12)), *range(16, blocks, 8))


@dataclass(frozen=True, slots=True)
class PreviousCall:
    """The conversation's call before. `messages` is None for one of an earlier turn, which only a kept turn can tell again."""

    session_id: int
    model: str
    is_stand_in: bool
    window_start: int
    message_count: int
    requested_at: datetime
    entries: Mapping[str, Sequence[int]]
    block_hashes: tuple[str, ...]
    is_kept: bool = True
    messages: tuple[JsonObject, ...] | None = None

    def longest_live(self, now: datetime) -> str:
        """The hash of the longest prefix it left that is surely still kept; empty if there is none."""
        age = (now - self.requested_at).total_seconds() + GRACE_SECONDS
        live = [(tokens, key) for key, (seconds, tokens) in self.entries.items() if seconds > age]
        return max(live)[1] if live else ""


@dataclass(slots=True)
class CachedPrefixes:
    """What is cached by now, and how long the provider itself measured those prefixes to be, in its own tokens."""

    before: PreviousCall | None = None
    cached: dict[bytes, CacheEntry] = field(default_factory=dict)
    measured: dict[str, int] = field(default_factory=dict)
    agent_conversations: int = 0
    shared_conversations: int = 0

    def keep(self, entries: Mapping[str, Sequence[int]], at: datetime, cached_tokens: int) -> None:
        """One call's traces: the longest prefix it left is what it was billed as read and written."""
        began = at.timestamp()
        for key, (seconds, _) in entries.items():
            self.cached[bytes.fromhex(key)] = CacheEntry(seconds, began + seconds)
        if entries and cached_tokens:
            self.measured[max(entries, key=lambda key: entries[key][1])] = cached_tokens

    def keep_only(self, digests: Collection[bytes]) -> None:
        """Forget what a prompt of these prefixes cannot read, however it goes on: thousands of turns wait with what they keep."""
        kept_keys = {digest.hex() for digest in digests} | set(self.before.entries if self.before else ())
        self.cached = {key: entry for key, entry in self.cached.items() if key in digests}
        self.measured = {key: tokens for key, tokens in self.measured.items() if key in kept_keys}


def find_earlier_calls(
    earlier_calls: JsonRow, conversation_id: int, shared: str, workspace: str, *, actor: Actor
) -> CachedPrefixes:
    """What this conversation, and others that begin with the same bytes, left within the hour. Unreadable is nothing (R044).

    What was brought of others is of prompts like that of the call before; where this one begins otherwise, it is asked anew.
    """
    try:
        is_as_before = (earlier_calls["agent_prefix_sha256"], earlier_calls["workspace_prefix_sha256"]) == (
            shared,
            workspace,
        )
        others = earlier_calls if is_as_before else _query_other_calls(shared, workspace, actor)
        return _collect_prefixes(earlier_calls, others, conversation_id)
    except (DatabaseError, KeyError, TypeError, ValueError) as error:
        logger.warning("earlier calls could not be read", extra={"error": type(error).__name__})
        return CachedPrefixes()


def _query_other_calls(shared: str, workspace: str, actor: Actor) -> JsonRow:
    given = {"shared": shared, "workspace": workspace, "tenant": actor.tenant_id, "others_calls": OTHERS_CALLS}
    [(json_text,)] = execute_as(actor, EARLIER_CALLS, given)
    found: JsonRow = json.loads(json_text)
    return found


def _collect_prefixes(earlier_calls: JsonRow, others: JsonRow, conversation_id: int) -> CachedPrefixes:
    mine, agents, everybodys = earlier_calls["own"] or (), others["shared"] or (), others["workspace"] or ()
    earlier = CachedPrefixes(
        before=_previous_call(earlier_calls["before"]) if earlier_calls["before"] else None,
        agent_conversations=_count_conversations(agents, conversation_id),
        shared_conversations=_count_conversations(everybodys, conversation_id),
    )
    # One call is brought up to three times: it is this conversation's, of this agent, and begins as everybody's do.
    calls = {(call["conversation"], call["requested_at"]): call for call in (*mine, *agents, *everybodys)}.values()
    lefts = ((datetime.fromisoformat(call["requested_at"]), call) for call in calls)
    for at, left in sorted(lefts, key=itemgetter(0)):
        earlier.keep(_decode_entries(left["cache_entries"]), at, left["cached_tokens"])
    return earlier


def encode_entries(entries: Mapping[str, Sequence[int]]) -> str:
    """As the books keep what a call left; five of these stand in every call."""
    return ";".join(f"{key} {seconds} {tokens}" for key, (seconds, tokens) in entries.items())


def _decode_entries(stored_entries: str | Mapping[str, Sequence[int]]) -> Mapping[str, Sequence[int]]:
    """What such a line says: the hash of each prefix, its lifetime in seconds and its length in tokens."""
    if not isinstance(stored_entries, str):
        # Of an earlier release.
        return stored_entries
    lines = (entry.split() for entry in stored_entries.split(";") if entry)
    return {key: (int(seconds), int(tokens)) for key, seconds, tokens in lines}


def _split_hashes(blocks: str) -> tuple[str, ...]:
    if " " in blocks:
        # Of an earlier release, whose hashes say nothing of ours.
        return ()
    return tuple(blocks[at : at + HASH_CHARACTERS] for at in range(0, len(blocks), HASH_CHARACTERS))


def _count_conversations(calls: Iterable[JsonRow], conversation_id: int) -> int:
    return len({call["conversation"] for call in calls} - {conversation_id})


def _previous_call(call: JsonRow) -> PreviousCall:
    ledger = call["cache_ledger"]
    start, count = ledger["history_window"]
    return PreviousCall(
        session_id=call["session"],
        model=ledger["model"],
        is_stand_in=call["is_stand_in"],
        window_start=start,
        message_count=count,
        requested_at=datetime.fromisoformat(call["requested_at"]),
        entries=_decode_entries(call["cache_entries"]),
        block_hashes=_split_hashes(ledger["block_hashes"]),
        is_kept=call["status"] == Turn.Status.DONE,
    )
