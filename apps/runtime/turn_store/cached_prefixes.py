"""Reads from the journal which prefixes earlier calls left in the prompt cache. A missing entry only raises the cost."""

import json
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter
from typing import Final, Self

from django.db import DatabaseError

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import execute_as
from apps.governance.database.sql_files import load_query
from apps.llm.cache_rules import CacheEntry
from apps.llm.model_backend import JsonObject
from apps.runtime.models import Turn
from apps.runtime.turn_store.json_rows import JsonRow

logger = logging.getLogger(__name__)

EARLIER_CALLS: Final = load_query("apps/runtime/turn_store/queries/find_calls_with_prefix.sql")
OWN_TURNS = 10
OTHERS_CALLS = 40
# The number of characters stored of a prefix's hash. Hashes are chained, so a chance match is detected one block later.
HASH_CHARACTERS = 4
# A safety margin for the time until an answer begins and for differences between clocks.
GRACE_SECONDS = 5.0


def sampled_blocks(blocks: int) -> tuple[int, ...]:
    """The indexes of the blocks whose prefix hashes are stored: the blocks of the prompt, and every eighth of a long history."""
    return (*range(min(blocks, 12)), *range(16, blocks, 8))


@dataclass(frozen=True, slots=True)
class PreviousCall:
    """The conversation's previous model call.

    `messages` is None for a call of an earlier turn. `is_kept` tells whether the transcript has the messages of that turn.
    """

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

    @classmethod
    def of(cls, row: JsonRow) -> Self:
        """Parse the journal's row. Raises KeyError, TypeError or ValueError if its ledger cannot be read."""
        ledger = row["cache_ledger"]
        window_start, message_count = ledger["history_window"]
        return cls(
            session_id=row["session"],
            model=ledger["model"],
            is_stand_in=row["is_stand_in"],
            window_start=window_start,
            message_count=message_count,
            requested_at=datetime.fromisoformat(row["requested_at"]),
            entries=_decode_entries(row["cache_entries"]),
            block_hashes=_split_hashes(ledger["block_hashes"]),
            is_kept=row["status"] == Turn.Status.DONE,
        )

    def longest_live(self, now: datetime) -> str:
        """The hash of the longest prefix that the call left and that is certainly still cached; empty if there is none."""
        age = (now - self.requested_at).total_seconds() + GRACE_SECONDS
        live = [(tokens, key) for key, (seconds, tokens) in self.entries.items() if seconds > age]
        return max(live)[1] if live else ""


@dataclass(frozen=True, slots=True)
class CacheTrace:
    """The prefixes that one model call left in the prompt cache; `entries` has the stored form."""

    requested_at: datetime
    conversation_id: int
    entries: str | Mapping[str, Sequence[int]]
    cached_tokens: int

    @classmethod
    def of(cls, row: JsonRow) -> Self:
        return cls(
            requested_at=datetime.fromisoformat(row["requested_at"]),
            conversation_id=row["conversation"],
            entries=row["cache_entries"],
            cached_tokens=row["cached_tokens"],
        )


@dataclass(frozen=True, slots=True)
class CallsWithPrefix:
    """The latest calls, of any conversation, whose prompts begin with the same bytes."""

    with_agent_prefix: tuple[CacheTrace, ...]
    with_workspace_prefix: tuple[CacheTrace, ...]

    @classmethod
    def of(cls, row: JsonRow) -> Self:
        return cls(_traces(row["with_agent_prefix"]), _traces(row["with_workspace_prefix"]))


@dataclass(frozen=True, slots=True)
class EarlierCalls:
    """The model calls of the last hour that come with a claim. `others` are other calls with the prefixes of the latest call."""

    own: tuple[CacheTrace, ...]
    previous: PreviousCall | None
    agent_prefix_sha256: str | None
    workspace_prefix_sha256: str | None
    others: CallsWithPrefix

    @classmethod
    def of(cls, row: JsonRow) -> Self:
        return cls(
            own=_traces(row["own"]),
            previous=PreviousCall.of(row["previous"]) if row["previous"] else None,
            agent_prefix_sha256=row["agent_prefix_sha256"],
            workspace_prefix_sha256=row["workspace_prefix_sha256"],
            others=CallsWithPrefix.of(row),
        )


def _traces(rows: Iterable[JsonRow] | None) -> tuple[CacheTrace, ...]:
    return tuple(map(CacheTrace.of, rows or ()))


def parse_earlier_calls(row: JsonRow) -> EarlierCalls | None:
    """The earlier calls of a claim; None if they cannot be read, since a turn can do without them (R044)."""
    try:
        return EarlierCalls.of(row)
    except (KeyError, TypeError, ValueError) as error:
        _warn_unreadable(error)
        return None


def _warn_unreadable(error: Exception) -> None:
    logger.warning("earlier calls could not be read", extra={"error": type(error).__name__})


@dataclass(slots=True)
class CachedPrefixes:
    """The cached prefixes, and their lengths in tokens as the provider measured them."""

    before: PreviousCall | None = None
    cached: dict[bytes, CacheEntry] = field(default_factory=dict)
    measured: dict[str, int] = field(default_factory=dict)
    agent_conversations: int = 0
    shared_conversations: int = 0

    def keep(self, entries: Mapping[str, Sequence[int]], at: datetime, cached_tokens: int) -> None:
        """Add the prefixes of a call. The length of its longest prefix is the number of tokens billed as read and written."""
        began = at.timestamp()
        for key, (seconds, _) in entries.items():
            self.cached[bytes.fromhex(key)] = CacheEntry(seconds, began + seconds)
        if entries and cached_tokens:
            self.measured[max(entries, key=lambda key: entries[key][1])] = cached_tokens

    def keep_only(self, digests: Collection[bytes]) -> None:
        """Drop all prefixes except these, which a continuation of the prompt can read, to save memory while turns wait."""
        kept_keys = {digest.hex() for digest in digests} | set(self.before.entries if self.before else ())
        self.cached = {key: entry for key, entry in self.cached.items() if key in digests}
        self.measured = {key: tokens for key, tokens in self.measured.items() if key in kept_keys}


def find_earlier_calls(
    earlier_calls: EarlierCalls | None, conversation_id: int, prefixes: tuple[str, str], *, actor: Actor
) -> CachedPrefixes:
    """Find the prefixes that this and other conversations left in the cache within the hour. Unreadable rows are left out (R044).

    `prefixes` are the hashes of this prompt's agent prefix and workspace prefix. A claim brings the calls of other conversations
    that share the prefixes of the previous call. If this prompt's prefixes differ, the calls are queried again.
    """
    if earlier_calls is None:
        return CachedPrefixes()
    try:
        is_as_before = (earlier_calls.agent_prefix_sha256, earlier_calls.workspace_prefix_sha256) == prefixes
        others = earlier_calls.others if is_as_before else _query_other_calls(prefixes, actor)
        return _collect_prefixes(earlier_calls, others, conversation_id)
    except (DatabaseError, KeyError, TypeError, ValueError) as error:
        _warn_unreadable(error)
        return CachedPrefixes()


def _query_other_calls(prefixes: tuple[str, str], actor: Actor) -> CallsWithPrefix:
    agent_prefix, workspace_prefix = prefixes
    given = {
        "tenant": actor.tenant_id,
        "agent_prefix_sha256": agent_prefix,
        "workspace_prefix_sha256": workspace_prefix,
        "others_calls": OTHERS_CALLS,
    }
    [(json_text,)] = execute_as(actor, EARLIER_CALLS, given)
    return CallsWithPrefix.of(json.loads(json_text))


def _collect_prefixes(earlier_calls: EarlierCalls, others: CallsWithPrefix, conversation_id: int) -> CachedPrefixes:
    earlier = CachedPrefixes(
        before=earlier_calls.previous,
        agent_conversations=_count_conversations(others.with_agent_prefix, conversation_id),
        shared_conversations=_count_conversations(others.with_workspace_prefix, conversation_id),
    )
    # A call may appear up to three times: as a call of this conversation, by its agent prefix, and by its workspace prefix.
    traces = (*earlier_calls.own, *others.with_agent_prefix, *others.with_workspace_prefix)
    each_once = {(trace.conversation_id, trace.requested_at): trace for trace in traces}
    for trace in sorted(each_once.values(), key=attrgetter("requested_at")):
        earlier.keep(_decode_entries(trace.entries), trace.requested_at, trace.cached_tokens)
    return earlier


def encode_entries(entries: Mapping[str, Sequence[int]]) -> str:
    """Encode the prefixes that a call left in the cache, about five per call, as one short text for storage."""
    return ";".join(f"{key} {seconds} {tokens}" for key, (seconds, tokens) in entries.items())


def _decode_entries(stored_entries: str | Mapping[str, Sequence[int]]) -> Mapping[str, Sequence[int]]:
    """Parse the stored form: the hash of each prefix, its lifetime in seconds and its length in tokens."""
    if not isinstance(stored_entries, str):
        # Stored by an earlier release.
        return stored_entries
    lines = (entry.split() for entry in stored_entries.split(";") if entry)
    return {key: (int(seconds), int(tokens)) for key, seconds, tokens in lines}


def _split_hashes(blocks: str) -> tuple[str, ...]:
    if " " in blocks:
        # Stored by an earlier release, whose hashes cannot be compared with current ones.
        return ()
    return tuple(blocks[at : at + HASH_CHARACTERS] for at in range(0, len(blocks), HASH_CHARACTERS))


def _count_conversations(traces: Iterable[CacheTrace], conversation_id: int) -> int:
    return len({trace.conversation_id for trace in traces} - {conversation_id})
