"""Renders a planted request, reads it back, and says everything that is not as it has to be."""

from collections.abc import Iterator
from typing import Any

from apps.prompt.learning_prompts.extraction import TranscriptLine, transcript_message
from apps.prompt.parsing.cursor import UnreadablePrompt
from apps.prompt.parsing.system_prompt import parse_system_prompt
from apps.prompt.parsing.user_turn import parse_user_turn
from apps.prompt.rendering.data_fences import unfence_lines
from apps.prompt.rendering.snapshot import render_snapshot
from apps.prompt.rendering.user_turn import render_user_turn
from apps.prompt.sanitizer.clean import sanitize
from apps.prompt.text_limits import TRANSCRIPT_LINE_CHARACTERS
from tests.prompt.parsing.expected_request import expected_sections, expected_turn
from tests.prompt.parsing.invisible_characters import find_hidden
from tests.prompt.parsing.planted_texts import PlantedRequest

_TRANSCRIPT = "# Transcript\n\n"


def violations(planted: PlantedRequest) -> list[str]:
    """Nothing, if the request holds what it has to hold and nothing else."""
    try:
        return [*_system_violations(planted), *_turn_violations(planted), *_transcript_violations(planted.transcript)]
    except UnreadablePrompt as error:
        return [f"unreadable: {error}"]


def _system_violations(planted: PlantedRequest) -> Iterator[str]:
    text = render_snapshot(planted.prompt).text
    yield from (f"hidden: {character}" for character in find_hidden(text))
    read = {slot.slot: list(slot.sections) for slot in parse_system_prompt(text)}
    expected = expected_sections(planted.prompt)
    for slot in expected.keys() | read.keys():
        if read.get(slot) != expected.get(slot):
            yield f"{slot.name}: {read.get(slot)} instead of {expected.get(slot)}"


def _turn_violations(planted: PlantedRequest) -> Iterator[str]:
    text = render_user_turn(planted.turn).text
    yield from (f"hidden: {character}" for character in find_hidden(text))
    read, expected = parse_user_turn(text), expected_turn(planted.turn)
    if read != expected:
        yield f"turn: {read} instead of {expected}"


def _transcript_violations(lines: tuple[TranscriptLine, ...]) -> Iterator[str]:
    if not lines:
        return
    text = transcript_message(lines)
    yield from (f"hidden: {character}" for character in find_hidden(text))
    read = list(unfence_lines(text.removeprefix(_TRANSCRIPT)))
    expected = [_sanitized_line(line) for line in lines]
    if read != expected:
        yield f"transcript: {read} instead of {expected}"


def _sanitized_line(line: TranscriptLine) -> dict[str, Any]:
    """A line of the transcript with every text as the sanitizer leaves it."""
    fields = {"text": line.text, "tool": line.tool_name, "arguments": line.arguments, "is_error": line.is_error}
    return {"role": line.role} | {name: _sanitize_value(value) for name, value in fields.items() if value}


def _sanitize_value(value: Any) -> Any:
    match value:
        case str():
            return sanitize(value, TRANSCRIPT_LINE_CHARACTERS).text
        case dict():
            return {key: _sanitize_value(item) for key, item in value.items()}
        case list():
            return [_sanitize_value(item) for item in value]
        case _:
            return value
