"""Rules of the desk: send modes, the grounding of a reply, and the merging of questions. Pure functions."""

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
# From the least to the most restrictive.
_STRICTNESS: Final = (SendMode.AUTONOMOUS, SendMode.SUGGEST, SendMode.OBSERVE)


class Grounding(StrEnum):
    """The strongest fact behind a reply. It is derived from recorded facts, never from a model's stated confidence (R136)."""

    SKILL = "skill"
    TOOL = "tool"
    PROFILE = "profile"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class GroundingFact:
    """One fact that a turn had before it wrote the reply: a skill it read, a tool result, or a profile line it cited."""

    kind: Grounding
    name: str
    record_id: int | None = None


@dataclass(frozen=True, slots=True)
class SendRuleValue:
    """One send rule. An empty channel means every channel; without a skill, the rule applies whichever skills were read."""

    mode: SendMode
    channel: str = ""
    skill_id: int | None = None


def send_mode_of(
    agent_default: SendMode, rules: Iterable[SendRuleValue], channel: str, skills_fetched: Set[int]
) -> SendMode:
    """Return the send mode of a reply on this channel after these skills were read (R134).

    A rule for the channel replaces the agent's default. Rules for skills that were read can only make the mode stricter.
    """
    here = [rule for rule in rules if rule.channel in {"", channel}]
    of_channel = [rule.mode for rule in here if rule.skill_id is None]
    of_skills = [rule.mode for rule in here if rule.skill_id in skills_fetched]
    return max([*(of_channel or [agent_default]), *of_skills], key=_STRICTNESS.index)


def grounding_of(facts: Iterable[GroundingFact]) -> Grounding:
    """Return the grounding of a draft, which is the kind of its strongest fact."""
    kinds = {fact.kind for fact in facts}
    return next((kind for kind in Grounding if kind in kinds), Grounding.NONE)


def joined_question(standing: str, more: str) -> str:
    """Append an addition to an open question unless it is already part of it, and cut the result to the length limit."""
    more = more.strip()
    if not more or more in standing.split("\n\n"):
        return standing
    return "\n\n".join(filter(None, [standing, more]))[:QUESTION_CHARACTERS]
