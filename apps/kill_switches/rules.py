"""Where a switch holds, and how it is said; pure."""

from dataclasses import dataclass

CHANNEL = r"^[a-z][a-z0-9_-]*\Z"
CHANNEL_RULE = "A channel is lower-case letters, digits, hyphens and underscores, such as http or slack."
REASON_CHARACTERS = 500

FREEZE_LEARNING = "freeze-learning"
PAUSE_SENDING = "pause-sending"
PAUSE_AGENT = "pause-agent"

_STOPPED_SENTENCES = {
    FREEZE_LEARNING: "Learning is frozen",
    PAUSE_SENDING: "Autonomous sending is paused",
    PAUSE_AGENT: "Answering is paused",
}


@dataclass(frozen=True, slots=True)
class SwitchScope:
    """Where a switch holds: an agent or all of them, a channel or all of them."""

    agent_key: str = ""
    channel: str = ""

    def __str__(self) -> str:
        whom = f"agent {self.agent_key}" if self.agent_key else "every agent"
        return f"{whom} on channel {self.channel}" if self.channel else whom


def stopped_sentence(kind: str, reach: SwitchScope) -> str:
    """What a switch stops, as one sentence without its reason, which is for people."""
    return f"{_STOPPED_SENTENCES[kind]} for {reach}."
