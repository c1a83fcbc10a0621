"""Rules of reports: which replies may be reported, and when an explanation is required. Pure functions."""

from dataclasses import dataclass
from typing import Final

EXPLANATION_CHARACTERS: Final = 2_000
CORRECTION_CHARACTERS: Final = 4_000
RESOLUTION_CHARACTERS: Final = 2_000
# The reason code that requires an explanation.
OTHER_REASON: Final = "other"
ONLY_REPORTER_WITHDRAWS: Final = (
    "Only its author may withdraw a report. You can settle it instead, as nothing was wrong."
)
EXPLANATION_REQUIRED: Final = "Explain what is wrong with the reply."


@dataclass(frozen=True, slots=True)
class ReportableReply:
    """The facts about a message that decide whether it may be reported."""

    is_agents: bool
    is_off_the_record: bool
    is_talk: bool


def reason_unreportable(reply: ReportableReply) -> str:
    """Return why the reply cannot be reported, or an empty text if it can."""
    if reply.is_off_the_record:
        return "This conversation is off the record. No texts about it are kept, so its replies cannot be reported."
    if reply.is_talk:
        return "A member's talk with an assistant is private, so its replies cannot be reported."
    if not reply.is_agents:
        return "Only an agent's replies to a customer can be reported. Decide on a draft on its own page."
    return ""


def missing_explanation(reason_code: str, explanation: str) -> str:
    """Return a refusal if a required explanation is missing, else an empty text."""
    return EXPLANATION_REQUIRED if reason_code == OTHER_REASON and not explanation.strip() else ""
