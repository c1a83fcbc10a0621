"""Renders a planted request, reads it back, and says everything that is not as it has to be."""

from collections.abc import Iterator
from typing import Any

from apps.prompt.learning_prompts.extraction import TranscriptLine, transcript_message
from apps.prompt.parsing.cursor import Unreadable
from apps.prompt.parsing.system_prompt import read_system
from apps.prompt.parsing.user_turn import read_turn
from apps.prompt.rendering.data_fences import unfence_lines
from apps.prompt.rendering.snapshot import assemble
from apps.prompt.rendering.user_turn import user_turn
from apps.prompt.sanitizer.clean import sanitize
from apps.prompt.text_limits import TRANSCRIPT_LINE_CHARACTERS
from tests.prompt.parsing.expected_request import expected_sections, expected_turn
from tests.prompt.parsing.invisible_characters import hidden_in
from tests.prompt.parsing.planted_texts import Planted

_TRANSCRIPT = "# Transcript\n\n"


def violations(planted: Planted) -> list[str]:
    """Nothing, if the request holds what it has to hold and nothing else."""
    try:
        return [*_in_system(planted), *_in_turn(planted), *_in_transcript(planted.transcript)]
    except Unreadable as error:
        return [f"unreadable: {error}"]


def _in_system(planted: Planted) -> Iterator[str]:
    text = assemble(planted.prompt).text
    yield from (f"hidden: {character}" for character in hidden_in(text))
    read = {slot.slot: list(slot.sections) for slot in read_system(text)}
    expected = expected_sections(planted.prompt)
    for slot in expected.keys() | read.keys():
        if read.get(slot) != expected.get(slot):
            yield f"{slot.name}: {read.get(slot)} instead of {expected.get(slot)}"


def _in_turn(planted: Planted) -> Iterator[str]:
    text = user_turn(planted.turn).text
    yield from (f"hidden: {character}" for character in hidden_in(text))
    read, expected = read_turn(text), expected_turn(planted.turn)
    if read != expected:
        yield f"turn: {read} instead of {expected}"


def _in_transcript(lines: tuple[TranscriptLine, ...]) -> Iterator[str]:
    if not lines:
        return
    text = transcript_message(lines)
    yield from (f"hidden: {character}" for character in hidden_in(text))
    read = list(unfence_lines(text.removeprefix(_TRANSCRIPT)))
    expected = [_line(line) for line in lines]
    if read != expected:
        yield f"transcript: {read} instead of {expected}"


def _line(line: TranscriptLine) -> dict[str, Any]:
    """A line of the transcript with every text as the sanitizer leaves it."""
    said = {"text": line.text, "tool": line.tool_name, "arguments": line.arguments, "is_error": line.is_error}
    return {"role": line.role} | {name: _clean(value) for name, value in said.items() if value}


def _clean(value: Any) -> Any:
    match value:
        case str():
            return sanitize(value, TRANSCRIPT_LINE_CHARACTERS).text
        case dict():
            return {key: _clean(item) for key, item in value.items()}
        case list():
            return [_clean(item) for item in value]
        case _:
            return value
