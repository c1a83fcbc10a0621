"""When a session is over, what of the history is replayed, when a tool is called once too often; pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

HISTORY_MESSAGES = 100
HISTORY_STEP = 50
# So often is the history halved where it does not fit into the model.
MAX_HISTORY_HALVINGS = 2
TOOL_CALLS_PER_TURN = 40
# More definitions cost more than they help: the model chooses worse, and each call carries all of them.
TOOLS_OFFERED = 40
# A turn whose worker dies again and again is given up; one whose model is away waits, for a day at most.
CRASHES_PER_TURN = 5
# A customer who writes on and on is answered all the same.
RESTARTS_PER_TURN = 3
TURN_DEADLINE = timedelta(days=1)
# An agent that runs elsewhere reports a turn by then, and takes what waits; afterwards a person is asked.
EXTERNAL_TURN_DEADLINE = timedelta(minutes=15)
# After so many turns an agent is asked whether something of the conversation is worth keeping (R105).
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
    """Stale means longer silent than `idle_seconds`; the next message then opens a new session. 0: every turn does (R064).

    A session that opened longer than `max_age_seconds` ago is stale as well, where an age is set (Z-5).
    """
    if last_turn_at is None or idle_seconds == 0:
        return True
    if opened_at and max_age_seconds is not None and now - opened_at > timedelta(seconds=max_age_seconds):
        return True
    return now - last_turn_at > timedelta(seconds=idle_seconds)


def is_nudged(turns: int) -> bool:
    """Whether the turn that follows so many is the one in which an agent is asked to save what is worth it (R105)."""
    return turns > 0 and turns % TURNS_BETWEEN_NUDGES == 0


def history_skipped(messages: int) -> int:
    """How many of so many messages are left out: in steps, so that the prefix stays cached between two of them (R143)."""
    return max(0, -(-(messages - HISTORY_MESSAGES) // HISTORY_STEP)) * HISTORY_STEP


def first_user_turn(messages: Sequence[Wire]) -> int:
    """Where the first user turn begins: what is replayed begins nowhere else."""
    return next((place for place, message in enumerate(messages) if _opens_turn(message)), len(messages))


def shortened_start(messages: Sequence[Wire], times: int) -> int:
    """Where the replay begins of a history that was halved so often because it did not fit: at a user turn (R143)."""
    cut = len(messages) - (len(messages) >> times)
    return cut + first_user_turn(messages[cut:])


def history_window(messages: Sequence[Wire]) -> tuple[Wire, ...]:
    """The replayed tail of all that was said (R143)."""
    recent = messages[history_skipped(len(messages)) :]
    return tuple(recent[first_user_turn(recent) :])


def offered_tools(
    ours: Sequence[OfferedTool], others: Sequence[OfferedTool], routing: Sequence[OfferedTool]
) -> tuple[OfferedTool, ...]:
    """What a session freezes: all tools, ours first; where they are too many, the first of them and those that lead to the rest."""
    everything = (*ours, *others)
    if len(everything) <= TOOLS_OFFERED:
        return everything
    return (*everything[: TOOLS_OFFERED - len(routing)], *routing)


def _opens_turn(message: Mapping[str, Any]) -> bool:
    content = message["content"]
    blocks = content if isinstance(content, list) else []
    return message["role"] == "user" and not any(block.get("type") == "tool_result" for block in blocks)
