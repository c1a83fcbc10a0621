"""The scope of a switch, and its description in words; pure."""

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
    """The scope of a switch: one agent or all of them, one channel or all of them."""

    agent_key: str = ""
    channel: str = ""

    def __str__(self) -> str:
        whom = f"agent {self.agent_key}" if self.agent_key else "every agent"
        return f"{whom} on channel {self.channel}" if self.channel else whom


def stopped_sentence(kind: str, reach: SwitchScope) -> str:
    """Return what a switch stops, as one sentence. Its reason is only for people and is left out."""
    return f"{_STOPPED_SENTENCES[kind]} for {reach}."
