"""Limits of sessions and turns: the end of a session, the length of the replayed history, the number of tools; pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

HISTORY_MESSAGES = 100
HISTORY_STEP = 50
# The most times that the history is halved when the prompt exceeds the model's context window.
MAX_HISTORY_HALVINGS = 2
TOOL_CALLS_PER_TURN = 40
# With more tools, the model chooses tools less well, and every call contains all definitions.
TOOLS_OFFERED = 40
# A turn fails after this many crashed workers. A turn whose model is unavailable waits for up to a day.
CRASHES_PER_TURN = 5
# After this many restarts the turn no longer restarts, so that a customer who keeps writing gets an answer.
RESTARTS_PER_TURN = 3
TURN_DEADLINE = timedelta(days=1)
# The time that an external agent has to take a pending message and to report a turn. After that, a person is asked.
EXTERNAL_TURN_DEADLINE = timedelta(minutes=15)
# After this many turns the prompt asks the agent whether anything in the conversation is worth saving (R105).
TURNS_BETWEEN_NUDGES = 10

Wire = TypeVar("Wire", bound=Mapping[str, Any])
OfferedTool = TypeVar("OfferedTool")


def is_stale(
    last_turn_at: datetime | None,
    now: datetime,
    idle_seconds: int,
    opened_at: datetime | None = None,
    max_age_seconds: int | None = None,
) -> bool:
    """Whether a session is stale: unused for longer than `idle_seconds`, so that the next message opens a new one (R064).

    With `idle_seconds` 0 every turn opens a new session. If `max_age_seconds` is set, an older session is stale too (Z-5).
    """
    if last_turn_at is None or idle_seconds == 0:
        return True
    if opened_at and max_age_seconds is not None and now - opened_at > timedelta(seconds=max_age_seconds):
        return True
    return now - last_turn_at > timedelta(seconds=idle_seconds)


def is_nudged(turns: int) -> bool:
    """Whether the turn after this many turns asks the agent to save something from the conversation (R105)."""
    return turns > 0 and turns % TURNS_BETWEEN_NUDGES == 0


def history_skipped(messages: int) -> int:
    """The number of oldest messages to leave out. It grows in steps, so that the prefix stays cached between two steps (R143)."""
    return max(0, -(-(messages - HISTORY_MESSAGES) // HISTORY_STEP)) * HISTORY_STEP


def first_user_turn(messages: Sequence[Wire]) -> int:
    """The index of the first user turn. A replayed history has to begin with a user turn."""
    return next((place for place, message in enumerate(messages) if _opens_turn(message)), len(messages))


def shortened_start(messages: Sequence[Wire], times: int) -> int:
    """The index of the user turn at which the replay begins after the history was halved `times` times (R143)."""
    cut = len(messages) - (len(messages) >> times)
    return cut + first_user_turn(messages[cut:])


def history_window(messages: Sequence[Wire]) -> tuple[Wire, ...]:
    """The latest part of the conversation, which is replayed (R143)."""
    recent = messages[history_skipped(len(messages)) :]
    return tuple(recent[first_user_turn(recent) :])


def offered_tools(
    ours: Sequence[OfferedTool], others: Sequence[OfferedTool], routing: Sequence[OfferedTool]
) -> tuple[OfferedTool, ...]:
    """The tools that a session freezes, built-in ones first. Above the limit: the first tools, and routing tools for the rest."""
    everything = (*ours, *others)
    if len(everything) <= TOOLS_OFFERED:
        return everything
    return (*everything[: TOOLS_OFFERED - len(routing)], *routing)


def _opens_turn(message: Mapping[str, Any]) -> bool:
    content = message["content"]
    blocks = content if isinstance(content, list) else []
    return message["role"] == "user" and not any(block.get("type") == "tool_result" for block in blocks)
