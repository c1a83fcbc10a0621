"""What earlier calls left in the prompt cache, as the journal tells. What it forgets makes a plan dearer, never wrong."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import DatabaseError
from django.db.models import QuerySet

from apps.governance.acting import acting
from apps.governance.actors import Actor
from apps.llm.backend import JsonObject
from apps.llm.caching import Entry
from apps.runtime.models import ModelCall, Turn

logger = logging.getLogger(__name__)

HOUR = timedelta(hours=1)
OWN_TURNS = 10
OTHERS_CALLS = 40
# An answer takes a while to begin, and a clock is never quite another's.
GRACE_SECONDS = 5.0
LEFT = (
    *("requested_at", "entries", "stand_in", "turn__conversation"),
    *("cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens"),
)


@dataclass(frozen=True, slots=True)
class Before:
    """The conversation's call before. `messages` is None for one of an earlier turn, which only a kept turn can tell again."""

    session_id: int
    model: str
    stand_in: bool
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
class Earlier:
    """What is cached by now, and how long the provider itself measured those prefixes to be, in its own tokens."""

    before: Before | None = None
    cached: dict[bytes, Entry] = field(default_factory=dict)
    measured: dict[str, int] = field(default_factory=dict)
    agents_talks: int = 0
    everybodys_talks: int = 0

    def keep(self, entries: Mapping[str, Sequence[int]], at: datetime, cached_tokens: int) -> None:
        """One call's traces: the longest prefix it left is what it was billed as read and written."""
        for key, (seconds, _) in entries.items():
            self.cached[bytes.fromhex(key)] = Entry(seconds, at.timestamp() + seconds)
        if entries and cached_tokens:
            self.measured[max(entries, key=lambda key: entries[key][1])] = cached_tokens


def earlier_calls(conversation_id: int, shared: str, workspace: str, now: datetime, *, actor: Actor) -> Earlier:
    """What this conversation, and others that begin with the same bytes, left within the hour. Unreadable is nothing (R044)."""
    try:
        with acting(actor):
            return _read(conversation_id, shared, workspace, now - HOUR, actor.tenant_id)
    except (DatabaseError, KeyError, TypeError, ValueError) as error:
        logger.warning("earlier calls could not be read", extra={"error": type(error).__name__})
        return Earlier()


def _read(conversation_id: int, shared: str, workspace: str, since: datetime, tenant_id: int) -> Earlier:
    recent = ModelCall.objects.filter(tenant_id=tenant_id, requested_at__gt=since).order_by("-requested_at")
    turns = list(Turn.objects.filter(conversation=conversation_id).values_list("pk", flat=True)[:OWN_TURNS])
    mine = recent.filter(turn_id__in=turns)
    agents, everybodys = (
        list(recent.filter(**where).values(*LEFT)[:OTHERS_CALLS])
        for where in ({"shared_sha256": shared}, {"workspace_sha256": workspace})
    )
    earlier = Earlier(
        before=_before(mine),
        agents_talks=_others(agents, conversation_id),
        everybodys_talks=_others(everybodys, conversation_id),
    )
    for left in sorted([*mine.values(*LEFT), *agents, *everybodys], key=lambda call: call["requested_at"]):
        cached_tokens = left["cache_read_tokens"] + left["cache_write_5m_tokens"] + left["cache_write_1h_tokens"]
        earlier.keep(left["entries"], left["requested_at"], cached_tokens)
    return earlier


def _others(calls: Iterable[Mapping[str, Any]], conversation_id: int) -> int:  # Any: a row's values
    return len({call["turn__conversation"] for call in calls} - {conversation_id})


def _before(mine: QuerySet[ModelCall]) -> Before | None:
    values = ("turn__session", "turn__status", "stand_in", "requested_at", "entries", "ledger")
    call = mine.exclude(turn__session=None).values(*values).first()
    if call is None:
        return None
    ledger = call["ledger"]
    start, count = ledger["window"]
    return Before(
        session_id=call["turn__session"],
        model=ledger["model"],
        stand_in=call["stand_in"],
        window_start=start,
        message_count=count,
        requested_at=call["requested_at"],
        entries=call["entries"],
        block_hashes=tuple(ledger["blocks"].split()),
        is_kept=call["turn__status"] == Turn.Status.DONE,
    )
