"""A user turn as it was framed, told apart again by the owners of its bytes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from apps.prompt.prompt_input import Slot
from apps.prompt.rendering.segments import Part, Segment, decode_segments
from apps.runtime.explain.skill_reads import as_said
from apps.runtime.explain.turn_retrieval import DRAFT, EXAMPLE, VERSION
from apps.runtime.turn_store.turn_journal import Asked


@dataclass(frozen=True, slots=True)
class Framed:
    """Each is empty where the turn has none. A correction has `draft` and `correction`, one kept for all `situation` too."""

    text: str
    date_line: str
    off_the_record_line: str
    delivery_directive: str
    learning: tuple[str, ...]
    corrections: tuple[Mapping[str, str], ...]


_FIELDS = {
    "situation": "situation",
    "draft": "draft",
    "text": "draft",
    "correction": "correction",
    "sent_text": "correction",
}


def framed(asked: Asked) -> Framed:
    """The sections of a user turn."""
    part = _part(asked)
    said = {template: "".join(s.text for s in part.segments if s.template == template) for template in _templates(part)}
    return Framed(
        part.text,
        said.get("date", ""),
        said.get("off_the_record", ""),
        next((text for template, text in said.items() if template.startswith("delivery.")), ""),
        tuple(as_said(segment.text) for segment in _of(part, VERSION)),
        tuple(_corrections(part)),
    )


def _part(asked: Asked) -> Part:
    content: Any = asked.wire["content"]  # Any: as it was stored
    segments: Any = asked.segments  # Any: the same
    return decode_segments(Slot.TURN, "".join(block["text"] for block in content), segments)


def _templates(part: Part) -> set[str]:
    return {segment.template for segment in part.segments if segment.template}


def _of(part: Part, *kinds: str) -> Iterator[Segment]:
    return (segment for segment in part.segments if segment.source and segment.source.record_type in kinds)


def _corrections(part: Part) -> Iterator[Mapping[str, str]]:
    told: dict[tuple[str, int], dict[str, str]] = {}
    for segment in _of(part, DRAFT, EXAMPLE):
        if segment.source and (name := _FIELDS.get(segment.source.field)):
            fields = told.setdefault((segment.source.record_type, segment.source.record_id), {})
            fields[name] = fields.get(name, "") + as_said(segment.text)
    yield from told.values()
