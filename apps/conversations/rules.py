"""Rules for inbound messages, and the parts of a transcript; pure."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import ceil

CHANNEL = r"^[a-z][a-z0-9_-]*\Z"
CHANNEL_RULE = "A channel is lower-case letters, digits, hyphens and underscores, such as http or slack."
# The channel of scheduled runs that post nowhere.
SCHEDULE_CHANNEL = "schedule"
# The channel between two agents, which no customer reads.
DELEGATION_CHANNEL = "agent"
# The channel of members' talks with assistants (R129), on which no customer writes.
ASSISTANT_CHANNEL = "console"
# The channel of trials in the playground, on which no customer writes either.
PLAYGROUND_CHANNEL = "playground"
RESERVED_CHANNELS = {
    ASSISTANT_CHANNEL: "what members talk about with their assistants",
    PLAYGROUND_CHANNEL: "what people try with their agents",
    SCHEDULE_CHANNEL: "what agents do by themselves",
    DELEGATION_CHANNEL: "what agents ask each other",
}
# Channels without messages to the outside. On the product's other channels, people answer agents' questions.
MEMBER_CHANNELS = frozenset({ASSISTANT_CHANNEL, PLAYGROUND_CHANNEL})
# The maximum depth of delegation: three agents, including the one that answers the customer.
MOST_DELEGATION_DEPTH = 2
EVENT_CHARACTERS = 20_000
KEY_CHARACTERS = 200
LINE_CHARACTERS = 80
SENDER_NAME_CHARACTERS = 120
COMMENT_CHARACTERS = 2_000
RATINGS = range(1, 6)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call of the agent, and its result."""

    call_id: str
    name: str
    arguments: dict[str, object]
    result: str = ""
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ConversationLine:
    """One step of a transcript: a text, or an agent's tool calls."""

    sender: str
    text: str
    tool_calls: tuple[ToolCall, ...] = field(default_factory=tuple)
    # A person's report about this line, in the product's own words.
    reported: str = ""


def message_flaws(text: str, end_user_key: str, channel: str, *, is_of_customer: bool = False) -> dict[str, list[str]]:
    """Return the flaws of a message by field; empty if it is valid. Customers cannot write on the product's own channels."""
    flaws: dict[str, list[str]] = {}
    if not text.strip():
        flaws["text"] = ["The message is empty. Send at least one character that is not white space."]
    elif len(text) > EVENT_CHARACTERS:
        flaws["text"] = [f"The message has {len(text)} characters; at most {EVENT_CHARACTERS} are allowed. Shorten it."]
    if end_user_key and not end_user_key.startswith(f"{channel}:"):
        flaws["end_user_key"] = [
            f"“{end_user_key}” does not belong to channel {channel}. Write {channel}: followed by the customer's id."
        ]
    if is_of_customer and channel in RESERVED_CHANNELS:
        flaws["channel"] = [f"The channel {channel} is reserved for {RESERVED_CHANNELS[channel]}. Use another channel."]
    return flaws


def seconds_to_wait(oldest_at: datetime, span: timedelta, now: datetime) -> int:
    """Return the seconds until the oldest of the messages leaves the time span; at least one."""
    return max(1, ceil((oldest_at + span - now).total_seconds()))
