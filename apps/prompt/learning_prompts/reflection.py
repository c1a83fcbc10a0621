"""What a reflection is shown of an agent's day, and what is made of its answer (R119)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from apps.prompt.learning_prompts.extraction import (
    SKILL_SCHEMA,
    ExtractedSkill,
    Malformed,
    TranscriptLine,
    objects_in,
    rendered_line,
    verdict_on,
)
from apps.prompt.rendering.data_fences import Json, fence_lines
from apps.prompt.sanitizer.invisible_characters import UNSTORABLE
from apps.prompt.text_limits import EXTRACTION_REPLY_CHARACTERS

SKILLS_OF_A_DAY: Final = 3
MEMORIES_OF_A_DAY: Final = 3
_NUMBERS: Final[Json] = {"type": "array", "items": {"type": "integer"}}
_PROPERTIES: Final = SKILL_SCHEMA["properties"]
_OF_DAY: Final[Mapping[str, Json]] = {
    **SKILL_SCHEMA,
    "properties": {
        **(_PROPERTIES if isinstance(_PROPERTIES, Mapping) else {}),
        "conversations": _NUMBERS,
    },
    "required": [*("name", "title", "description", "body"), "conversations"],
}
_MEMORY: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "conversations": _NUMBERS},
    "required": ["text", "conversations"],
    "additionalProperties": False,
}
reflection_schema: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {"skills": {"type": "array", "items": _OF_DAY}, "memories": {"type": "array", "items": _MEMORY}},
    "required": ["skills", "memories"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class SkillOfDay:
    """A runbook as the reflection wrote it, not vetted yet, and the conversations that show it, counted from 1."""

    skill: ExtractedSkill
    conversations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MemoryOfDay:
    """A line to remember as the reflection wrote it, not vetted yet, and the conversations that show it, counted from 1."""

    text: str
    conversations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OfDay:
    """All that a reflection would have an agent keep of a day."""

    skills: tuple[SkillOfDay, ...] = ()
    memories: tuple[MemoryOfDay, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Most days teach nothing."""
        return not (self.skills or self.memories)


def day_message(conversations: Sequence[Sequence[TranscriptLine]]) -> str:
    """Each conversation as data in a fence of its own, under its number."""
    return "\n\n".join(
        f"# Conversation {number}\n\n{fence_lines([rendered_line(line) for line in lines])}"
        for number, lines in enumerate(conversations, start=1)
    )


def parse_reflection(text: str) -> OfDay | Malformed:
    """The answer as values; what is neither, or cites nothing that was shown, is left out. Nothing is ever raised."""
    if len(text) > SKILLS_OF_A_DAY * EXTRACTION_REPLY_CHARACTERS:
        return Malformed("The answer is longer than a reflection can be.")
    for candidate in objects_in(text):
        if isinstance(found := candidate.get("skills"), list):
            noted = candidate.get("memories")
            memories = _memories(noted) if isinstance(noted, list) else ()
            return OfDay(tuple(_skills(found))[:SKILLS_OF_A_DAY], tuple(memories)[:MEMORIES_OF_A_DAY])
    return Malformed("The answer holds no JSON object with skills in it.")


def _skills(found: Sequence[object]) -> Iterator[SkillOfDay]:
    for each in found:
        skill = verdict_on(each)
        if (
            isinstance(each, Mapping)
            and isinstance(skill, ExtractedSkill)
            and isinstance(each.get("conversations"), list)
        ):
            yield SkillOfDay(skill, _numbers(each["conversations"]))


def _memories(found: Sequence[object]) -> Iterator[MemoryOfDay]:
    for each in found:
        match each:
            case {"text": str(text), "conversations": list(cited)} if text.strip() and not UNSTORABLE.search(text):
                yield MemoryOfDay(" ".join(text.split()), _numbers(cited))


def _numbers(cited: Sequence[object]) -> tuple[int, ...]:
    return tuple(sorted({number for number in cited if isinstance(number, int) and number > 0}))
