"""The message to the extraction model, and the parsing of its answer."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from apps.prompt.rendering.data_fences import Json, fence_lines
from apps.prompt.sanitizer.clean import sanitize
from apps.prompt.sanitizer.invisible_characters import UNSTORABLE_CHARACTERS
from apps.prompt.text_limits import EXTRACTION_REPLY_CHARACTERS, TRANSCRIPT_LINE_CHARACTERS

_SKILL_FIELDS: Final = ("name", "title", "description", "body")
SKILL_SCHEMA: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in _SKILL_FIELDS},
    "required": list(_SKILL_FIELDS),
    "additionalProperties": False,
}

extraction_schema: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {"skill": {"anyOf": [{"type": "null"}, SKILL_SCHEMA]}},
    "required": ["skill"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class TranscriptLine:
    """A message or a tool call. A line with a tool name is a call if it has arguments, else the result of one."""

    role: str
    text: str = ""
    tool_name: str = ""
    arguments: Mapping[str, Json] | None = None
    is_error: bool = False
    # Why a person reported this reply, as a fixed phrase.
    reported: str = ""


@dataclass(frozen=True, slots=True)
class ExtractedSkill:
    """A runbook from the model's answer, before vetting."""

    name: str
    title: str
    description: str
    body: str


@dataclass(frozen=True, slots=True)
class NothingExtracted:
    """The model found nothing worth keeping."""


@dataclass(frozen=True, slots=True)
class MalformedExtraction:
    """The answer does not match the schema, so nothing is learned from it (R114)."""

    reason: str


ExtractionResult: TypeAlias = ExtractedSkill | NothingExtracted | MalformedExtraction


def transcript_message(lines: Sequence[TranscriptLine]) -> str:
    """Return the conversation as data, in one fence with one JSON object per line."""
    return f"# Transcript\n\n{fence_lines([render_transcript_line(line) for line in lines])}"


def render_transcript_line(line: TranscriptLine) -> Mapping[str, Json]:
    rendered: dict[str, Json] = {"role": line.role}
    if line.text:
        rendered["text"] = _clean(line.text)
    if line.tool_name:
        rendered["tool"] = _clean(line.tool_name)
    if line.arguments is not None:
        rendered["arguments"] = _clean(line.arguments)
    if line.is_error:
        rendered["is_error"] = True
    if line.reported:
        rendered["reported"] = line.reported
    return rendered


def _clean(value: Json) -> Json:
    match value:
        case str():
            return sanitize(value, TRANSCRIPT_LINE_CHARACTERS).text
        case Mapping():
            return {sanitize(key).text: _clean(item) for key, item in value.items()}
        case Sequence():
            return [_clean(item) for item in value]
        case _:
            return value


def parse_extraction(text: str) -> ExtractionResult:
    """Parse the answer, skipping code fences and prose around the JSON object. Never raises."""
    if len(text) > EXTRACTION_REPLY_CHARACTERS:
        return MalformedExtraction("The answer is longer than an extraction can be.")
    for candidate in json_objects_in(text):
        if "skill" in candidate:
            return parse_extracted_skill(candidate["skill"])
    return MalformedExtraction("The answer holds no JSON object with a skill in it.")


def json_objects_in(text: str) -> Iterator[Mapping[str, object]]:
    """Yield every JSON object in the text that is not nested in another one."""
    at = text.find("{")
    while at >= 0:
        found, end = _object_at(text, at)
        yield found
        at = text.find("{", end)


def _object_at(text: str, at: int) -> tuple[Mapping[str, object], int]:
    # ValueError: a number too long to convert. RecursionError: an object nested thousands of levels deep.
    try:
        found, end = json.JSONDecoder(strict=False).raw_decode(text, at)
    except (ValueError, RecursionError):
        return {}, at + 1
    return found, end


def parse_extracted_skill(skill: object) -> ExtractionResult:
    match skill:
        case None:
            return NothingExtracted()
        case {"name": str(name), "description": str(description), "body": str(body), **rest}:
            return _validate_skill(name.strip(), rest.get("title"), description.strip(), body.strip())
        case _:
            return MalformedExtraction("A skill needs a name, a description and a body, all of them texts.")


def _validate_skill(name: str, title: object, description: str, body: str) -> ExtractedSkill | MalformedExtraction:
    clean_title = title.strip() if isinstance(title, str) else ""
    if not (name and description and body):
        return MalformedExtraction("The name, the description and the body of a skill may not be empty.")
    if UNSTORABLE_CHARACTERS.search(name + description + body + clean_title):
        return MalformedExtraction("The skill holds characters that no database stores.")
    return ExtractedSkill(name, clean_title or name.replace("-", " ").capitalize(), description, body)
