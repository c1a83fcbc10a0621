"""Which replies may be reported, and what has to be said of them; pure."""

from dataclasses import dataclass
from typing import Final

EXPLANATION_CHARACTERS: Final = 2_000
CORRECTION_CHARACTERS: Final = 4_000
RESOLUTION_CHARACTERS: Final = 2_000
# The reason that says nothing by itself.
OTHER_REASON: Final = "other"
ONLY_REPORTER_WITHDRAWS: Final = "Only whoever made a report withdraws it. Settle it instead: nothing was wrong."
EXPLANATION_REQUIRED: Final = "Say in words what is wrong with the reply."


@dataclass(frozen=True, slots=True)
class ReportableReply:
    """Of a message what decides whether it may be reported."""

    is_agents: bool
    is_off_the_record: bool
    is_talk: bool


def reason_unreportable(reply: ReportableReply) -> str:
    """Why no report of it is kept; empty where one is."""
    if reply.is_off_the_record:
        return "This conversation is off the record: no words about it are kept, so its replies are not reported."
    if reply.is_talk:
        return "What a member talks about with an assistant is theirs alone, so its replies are not reported."
    if not reply.is_agents:
        return "Only what an agent said to its customer is reported. A draft is judged on its own page."
    return ""


def missing_explanation(reason_code: str, explanation: str) -> str:
    """What is missing of an explanation; empty where nothing is."""
    return EXPLANATION_REQUIRED if reason_code == OTHER_REASON and not explanation.strip() else ""
