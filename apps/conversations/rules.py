"""What may arrive, and what a transcript is made of; pure."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import ceil

CHANNEL = r"^[a-z][a-z0-9_-]*\Z"
CHANNEL_RULE = "A channel is lower-case letters, digits, hyphens and underscores, such as http or slack."
# The channel of what an agent does by itself and posts nowhere.
SCHEDULE_CHANNEL = "schedule"
# The channel between two agents; no customer reads it.
DELEGATION_CHANNEL = "agent"
# The channel on which a member talks with an assistant (R129); no customer writes there.
ASSISTANT_CHANNEL = "console"
# The channel on which a person tries an agent for customers; no customer writes there either.
PLAYGROUND_CHANNEL = "playground"
RESERVED_CHANNELS = {
    ASSISTANT_CHANNEL: "what members talk about with their assistants",
    PLAYGROUND_CHANNEL: "what people try with their agents",
    SCHEDULE_CHANNEL: "what agents do by themselves",
    DELEGATION_CHANNEL: "what agents ask each other",
}
# Where nobody is told anything from outside; on the others of ours people answer what agents ask them.
MEMBER_CHANNELS = frozenset({ASSISTANT_CHANNEL, PLAYGROUND_CHANNEL})
# How often a question may be passed on: the agent that a customer writes to is the first of three at most.
MOST_DELEGATION_DEPTH = 2
EVENT_CHARACTERS = 20_000
KEY_CHARACTERS = 200
LINE_CHARACTERS = 80
SENDER_NAME_CHARACTERS = 120
COMMENT_CHARACTERS = 2_000
RATINGS = range(1, 6)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool the agent called, and what came back."""

    call_id: str
    name: str
    arguments: dict[str, object]
    result: str = ""
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ConversationLine:
    """One step of a transcript: somebody's words, or an agent's tool calls."""

    sender: str
    text: str
    tool_calls: tuple[ToolCall, ...] = field(default_factory=tuple)
    # What a person reported as wrong with it, in the house's words.
    reported: str = ""


def message_flaws(text: str, end_user_key: str, channel: str, *, is_of_customer: bool = False) -> dict[str, list[str]]:
    """Why a message cannot be taken, by field; empty if it can. Customers write on no channel of ours."""
    flaws: dict[str, list[str]] = {}
    if not text.strip():
        flaws["text"] = ["The message is empty. Send at least one character that is not white space."]
    elif len(text) > EVENT_CHARACTERS:
        flaws["text"] = [f"The message has {len(text)} characters; at most {EVENT_CHARACTERS} are taken. Shorten it."]
    if end_user_key and not end_user_key.startswith(f"{channel}:"):
        flaws["end_user_key"] = [
            f"“{end_user_key}” is not of channel {channel}. Write {channel}: and the customer's id."
        ]
    if is_of_customer and channel in RESERVED_CHANNELS:
        flaws["channel"] = [f"The channel {channel} is for {RESERVED_CHANNELS[channel]}. Send this on another."]
    return flaws


def seconds_to_wait(oldest_at: datetime, span: timedelta, now: datetime) -> int:
    """Until the oldest of as many messages as are taken in a span is that long ago; a second at least."""
    return max(1, ceil((oldest_at + span - now).total_seconds()))
