"""The message of a reflection, with an agent's day, and the parsing of the model's answer (R119)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from apps.prompt.learning_prompts.extraction import (
    SKILL_SCHEMA,
    ExtractedSkill,
    MalformedExtraction,
    TranscriptLine,
    json_objects_in,
    parse_extracted_skill,
    render_transcript_line,
)
from apps.prompt.rendering.data_fences import Json, fence_lines
from apps.prompt.sanitizer.invisible_characters import UNSTORABLE_CHARACTERS
from apps.prompt.text_limits import EXTRACTION_REPLY_CHARACTERS

MAX_SKILLS_PER_DAY: Final = 3
MAX_MEMORIES_PER_DAY: Final = 3
_NUMBER_LIST_SCHEMA: Final[Json] = {"type": "array", "items": {"type": "integer"}}
_PROPERTIES: Final = SKILL_SCHEMA["properties"]
_DAY_SKILL_SCHEMA: Final[Mapping[str, Json]] = {
    **SKILL_SCHEMA,
    "properties": {
        **(_PROPERTIES if isinstance(_PROPERTIES, Mapping) else {}),
        "conversations": _NUMBER_LIST_SCHEMA,
    },
    "required": [*("name", "title", "description", "body"), "conversations"],
}
_MEMORY_SCHEMA: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "conversations": _NUMBER_LIST_SCHEMA},
    "required": ["text", "conversations"],
    "additionalProperties": False,
}
reflection_schema: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {
        "skills": {"type": "array", "items": _DAY_SKILL_SCHEMA},
        "memories": {"type": "array", "items": _MEMORY_SCHEMA},
    },
    "required": ["skills", "memories"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class ReflectedSkill:
    """A runbook from the model's answer, before vetting, and the numbers (from 1) of the conversations that support it."""

    skill: ExtractedSkill
    conversations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ReflectedMemory:
    """A memory line from the model's answer, before vetting, and the numbers (from 1) of the conversations that support it."""

    text: str
    conversations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ReflectionResult:
    """The skills and memory lines that a reflection proposes."""

    skills: tuple[ReflectedSkill, ...] = ()
    memories: tuple[ReflectedMemory, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Return whether nothing is proposed, as on most days."""
        return not (self.skills or self.memories)


def day_message(conversations: Sequence[Sequence[TranscriptLine]]) -> str:
    """Return the conversations as data, each in its own fence under its number."""
    return "\n\n".join(
        f"# Conversation {number}\n\n{fence_lines([render_transcript_line(line) for line in lines])}"
        for number, lines in enumerate(conversations, start=1)
    )


def parse_reflection(text: str) -> ReflectionResult | MalformedExtraction:
    """Parse the answer. Items that are malformed or cite an unknown conversation are left out. Never raises."""
    if len(text) > MAX_SKILLS_PER_DAY * EXTRACTION_REPLY_CHARACTERS:
        return MalformedExtraction("The answer is longer than a reflection can be.")
    for candidate in json_objects_in(text):
        if isinstance(found := candidate.get("skills"), list):
            noted = candidate.get("memories")
            memories = _memories(noted) if isinstance(noted, list) else ()
            return ReflectionResult(tuple(_skills(found))[:MAX_SKILLS_PER_DAY], tuple(memories)[:MAX_MEMORIES_PER_DAY])
    return MalformedExtraction("The answer holds no JSON object with skills in it.")


def _skills(found: Sequence[object]) -> Iterator[ReflectedSkill]:
    for each in found:
        skill = parse_extracted_skill(each)
        if (
            isinstance(each, Mapping)
            and isinstance(skill, ExtractedSkill)
            and isinstance(each.get("conversations"), list)
        ):
            yield ReflectedSkill(skill, _numbers(each["conversations"]))


def _memories(found: Sequence[object]) -> Iterator[ReflectedMemory]:
    for each in found:
        match each:
            case {"text": str(text), "conversations": list(cited)} if text.strip() and not UNSTORABLE_CHARACTERS.search(
                text
            ):
                yield ReflectedMemory(" ".join(text.split()), _numbers(cited))


def _numbers(cited: Sequence[object]) -> tuple[int, ...]:
    return tuple(sorted({number for number in cited if isinstance(number, int) and number > 0}))
