"""The YAML front matter of a `SKILL.md`, read as plain text values, and written so that every parser reads the same.

Pure functions.
"""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any, Final

import yaml

# Far more than any skill needs; the parser's work grows with the length.
FRONT_MATTER_CHARACTERS: Final = 16_000
MAX_KEYS: Final = 50
# For each token, the parser visits every open bracket again.
MAX_BRACKETS: Final = 100

FieldValue = str | list[str] | dict[str, str]

_PLAIN_SCALAR: Final = re.compile(r"[A-Za-z](?:[A-Za-z0-9 ,.()/_-]*[A-Za-z0-9.)])?")
# Characters that YAML forbids or treats as a line end.
_UNPRINTABLE: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
# Some parsers also accept a closing line of dashes in the middle of a text.
_DASHES: Final = re.compile("-(?=--)")


class SkillFormatError(ValueError):
    """Raised when a file does not follow the format. The message is a whole sentence."""


def read_fields(text: str) -> dict[str, FieldValue]:
    """Parse the fields, keeping every scalar as text: `1.10` is not a number and `no` is not a boolean."""
    if len(text) > FRONT_MATTER_CHARACTERS:
        raise SkillFormatError(
            f"The front matter has {len(text)} characters; at most {FRONT_MATTER_CHARACTERS} are read. Shorten it."
        )
    if text.count("[") + text.count("{") > MAX_BRACKETS:
        raise SkillFormatError(
            f"The front matter has more than {MAX_BRACKETS} brackets. Write lists one item to a line."
        )
    try:
        fields = _parse_document(_safe_events(text))
    except (yaml.YAMLError, ValueError, OverflowError) as refusal:
        if isinstance(refusal, SkillFormatError):
            raise
        raise SkillFormatError(
            f"The front matter is not valid YAML{_error_location(refusal)}. Put texts with a colon in quotes."
        ) from refusal
    return fields


def render_fields(fields: Mapping[str, FieldValue]) -> str:
    """Return the fields as YAML, in their order, with one scalar per line."""
    return "".join(f"{line}\n" for name, value in fields.items() for line in _field_lines(name, value))


def _field_lines(name: str, value: FieldValue) -> Iterator[str]:
    if isinstance(value, str):
        yield f"{name}: {_quote_scalar(value)}"
        return
    yield f"{name}:"
    if isinstance(value, list):
        yield from (f"  - {_quote_scalar(each)}" for each in value)
    else:
        yield from (f"  {_quote_scalar(key)}: {_quote_scalar(value[key])}" for key in sorted(value))


def _quote_scalar(text: str) -> str:
    """Return the scalar unquoted if every parser reads it as this text, otherwise in double quotes."""
    if _PLAIN_SCALAR.fullmatch(text) and "--" not in text and yaml.safe_load(text) == text:
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return _DASHES.sub(r"\\x2d", _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted))


def _safe_events(text: str) -> Iterator[Any]:
    """Yield the YAML events. Refuses anchors and aliases, which can expand enormously, and tags, which change a value's type."""
    for event in yaml.parse(text, Loader=yaml.BaseLoader):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) or getattr(event, "tag", None):
            raise SkillFormatError("The front matter has an anchor, an alias or a tag. Write out each value as text.")
        yield event


def _parse_document(events: Iterator[Any]) -> dict[str, FieldValue]:
    started = [type(next(events, None)) for _ in range(3)]
    if started != [yaml.StreamStartEvent, yaml.DocumentStartEvent, yaml.MappingStartEvent]:
        raise SkillFormatError("The front matter has no fields. Begin with `name:` and `description:`.")
    fields = {name: _parse_value(event, events) for name, event in _pairs(events)}
    if [type(event) for event in events] != [yaml.DocumentEndEvent, yaml.StreamEndEvent]:
        raise SkillFormatError("The front matter holds more than one YAML document. Keep one.")
    return fields


def _parse_value(event: Any, events: Iterator[Any]) -> FieldValue:
    if isinstance(event, yaml.ScalarEvent):
        return _scalar_text(event)
    if isinstance(event, yaml.SequenceStartEvent):
        items = takewhile(lambda each: not isinstance(each, yaml.SequenceEndEvent), events)
        return [_scalar_text(each) for each in _limit_items(items)]
    return {key: _scalar_text(each) for key, each in _pairs(events)}


def _limit_items(events: Iterator[Any]) -> Iterator[Any]:
    for number, event in enumerate(events):
        if number == MAX_KEYS:
            raise SkillFormatError(f"The front matter has a list of more than {MAX_KEYS} items.")
        yield event


def _pairs(events: Iterator[Any]) -> Iterator[tuple[str, Any]]:
    """Yield each key with the first event of its value. The caller must consume the value before the next key."""
    names: set[str] = set()
    for event in events:
        if isinstance(event, yaml.MappingEndEvent):
            return
        name = _scalar_text(event)
        if name in names:
            raise SkillFormatError(f"The front matter has `{name}` twice. Remove one.")
        if len(names) == MAX_KEYS:
            raise SkillFormatError(f"The front matter has more than {MAX_KEYS} keys in one place.")
        names.add(name)
        yield name, next(events)


def _scalar_text(event: Any) -> str:
    if not isinstance(event, yaml.ScalarEvent):
        raise SkillFormatError(
            "The front matter is nested too deeply: a value is a text, a list of texts or texts by name."
        )
    value: str = event.value
    try:
        value.encode()
    except UnicodeEncodeError as refusal:
        raise SkillFormatError("The front matter has half a surrogate pair. Remove it.") from refusal
    if "\x00" in value:
        raise SkillFormatError("The front matter has a NUL character. Remove it.")
    return value


def _error_location(refusal: Exception) -> str:
    mark = getattr(refusal, "problem_mark", None)
    return f" (line {mark.line + 1}: {getattr(refusal, 'problem', '')})" if mark else ""
