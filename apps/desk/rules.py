"""What becomes of a reply, what it stands on, and how a question grows; pure."""

from collections.abc import Iterable, Set
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from apps.prompt.prompt_input import SendMode

DRAFT_CHARACTERS: Final = 20_000
QUESTION_CHARACTERS: Final = 4_000
ANSWER_CHARACTERS: Final = 10_000
REASON_CHARACTERS: Final = 500
CHANNEL: Final = r"^[a-z][a-z0-9_-]*\Z"
CHANNEL_RULE: Final = "A channel is lower-case letters, digits, hyphens and underscores, such as http or slack."
# From the freest to the strictest.
_STRICTNESS: Final = (SendMode.AUTONOMOUS, SendMode.SUGGEST, SendMode.OBSERVE)


class Grounding(StrEnum):
    """The firmest thing a reply stands on, from listed facts and never from a number the model gives itself (R136)."""

    SKILL = "skill"
    TOOL = "tool"
    PROFILE = "profile"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class GroundingFact:
    """One thing a turn had before it wrote: a skill it read, a tool that answered, a line of the profile it cited."""

    kind: Grounding
    name: str
    record_id: int | None = None


@dataclass(frozen=True, slots=True)
class SendRuleValue:
    """One send rule; no channel means every channel, no skill means whether or not one was read."""

    mode: SendMode
    channel: str = ""
    skill_id: int | None = None


def send_mode_of(
    agent_default: SendMode, rules: Iterable[SendRuleValue], channel: str, skills_fetched: Set[int]
) -> SendMode:
    """What becomes of a reply on this channel after these skills (R134).

    A channel's rule takes the place of the agent's default; rules of skills that were read only make it stricter.
    """
    here = [rule for rule in rules if rule.channel in {"", channel}]
    of_channel = [rule.mode for rule in here if rule.skill_id is None]
    of_skills = [rule.mode for rule in here if rule.skill_id in skills_fetched]
    return max([*(of_channel or [agent_default]), *of_skills], key=_STRICTNESS.index)


def grounding_of(facts: Iterable[GroundingFact]) -> Grounding:
    """The label of a draft: the firmest of its facts, none where there is none."""
    kinds = {fact.kind for fact in facts}
    return next((kind for kind in Grounding if kind in kinds), Grounding.NONE)


def joined_question(standing: str, more: str) -> str:
    """An open question with what comes to it, once and within its length; what does not fit is cut."""
    more = more.strip()
    if not more or more in standing.split("\n\n"):
        return standing
    return "\n\n".join(filter(None, [standing, more]))[:QUESTION_CHARACTERS]
