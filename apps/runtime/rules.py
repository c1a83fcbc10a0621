"""When a session is over, what of the history is replayed, when a tool is called once too often; pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

HISTORY_MESSAGES = 100
HISTORY_STEP = 50
TOOL_CALLS_PER_TURN = 40
# A turn whose worker dies again and again is given up; one whose model is away waits, for a day at most.
CRASHES_PER_TURN = 5
# A customer who writes on and on is answered all the same.
RESTARTS_PER_TURN = 3
PATIENCE = timedelta(days=1)

Wire = TypeVar("Wire", bound=Mapping[str, Any])


def is_stale(
    last_turn_at: datetime | None,
    now: datetime,
    idle_seconds: int,
    opened_at: datetime | None = None,
    max_age_seconds: int | None = None,
) -> bool:
    """Stale means longer silent than `idle_seconds`; the next message then opens a new session. 0: every turn does (R064).

    A session that opened longer than `max_age_seconds` ago is stale as well, where an age is set (Z-5).
    """
    if last_turn_at is None or idle_seconds == 0:
        return True
    if opened_at and max_age_seconds is not None and now - opened_at > timedelta(seconds=max_age_seconds):
        return True
    return now - last_turn_at > timedelta(seconds=idle_seconds)


def history_window(messages: Sequence[Wire]) -> tuple[Wire, ...]:
    """The replayed tail. It is cut in steps, so that the prefix stays cached, and begins where a user turn does (R143)."""
    start = 0
    while len(messages) - start > HISTORY_MESSAGES:
        start += HISTORY_STEP
    while start < len(messages) and not _opens_turn(messages[start]):
        start += 1
    return tuple(messages[start:])


def _opens_turn(message: Mapping[str, Any]) -> bool:
    content = message["content"]
    blocks = content if isinstance(content, list) else []
    return message["role"] == "user" and not any(block.get("type") == "tool_result" for block in blocks)
