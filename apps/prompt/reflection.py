"""What a reflection is shown of an agent's day, and what is made of its answer (R119)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from apps.prompt.budgets import EXTRACTION_REPLY_CHARACTERS
from apps.prompt.extraction import (
    SKILL_SCHEMA,
    ExtractedSkill,
    Malformed,
    TranscriptLine,
    objects_in,
    rendered_line,
    verdict_on,
)
from apps.prompt.framing import Json, fence_lines

SKILLS_OF_A_DAY: Final = 3
_PROPERTIES: Final = SKILL_SCHEMA["properties"]
_OF_DAY: Final[Mapping[str, Json]] = {
    **SKILL_SCHEMA,
    "properties": {
        **(_PROPERTIES if isinstance(_PROPERTIES, Mapping) else {}),
        "conversations": {"type": "array", "items": {"type": "integer"}},
    },
    "required": [*("name", "title", "description", "body"), "conversations"],
}
reflection_schema: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {"skills": {"type": "array", "items": _OF_DAY}},
    "required": ["skills"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class SkillOfDay:
    """A runbook as the reflection wrote it, not vetted yet, and the conversations that show it, counted from 1."""

    skill: ExtractedSkill
    conversations: tuple[int, ...]


def day_message(conversations: Sequence[Sequence[TranscriptLine]]) -> str:
    """Each conversation as data in a fence of its own, under its number."""
    return "\n\n".join(
        f"# Conversation {number}\n\n{fence_lines([rendered_line(line) for line in lines])}"
        for number, lines in enumerate(conversations, start=1)
    )


def parse_reflection(text: str) -> tuple[SkillOfDay, ...] | Malformed:
    """The answer as values; what is no skill, or cites nothing that was shown, is left out. Nothing is ever raised."""
    if len(text) > SKILLS_OF_A_DAY * EXTRACTION_REPLY_CHARACTERS:
        return Malformed("The answer is longer than a reflection can be.")
    for candidate in objects_in(text):
        if isinstance(found := candidate.get("skills"), list):
            return tuple(_skills(found))[:SKILLS_OF_A_DAY]
    return Malformed("The answer holds no JSON object with skills in it.")


def _skills(found: Sequence[object]) -> Iterator[SkillOfDay]:
    for each in found:
        cited = each.get("conversations") if isinstance(each, Mapping) else None
        skill = verdict_on(each)
        if isinstance(skill, ExtractedSkill) and isinstance(cited, list):
            numbers = sorted({number for number in cited if isinstance(number, int) and number > 0})
            yield SkillOfDay(skill, tuple(numbers))
