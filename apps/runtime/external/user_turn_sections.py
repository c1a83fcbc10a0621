"""Splits a rendered user turn into its sections by the owners of its bytes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from apps.prompt.prompt_input import Slot
from apps.prompt.rendering.segments import Segment, SlotText, decode_segments
from apps.runtime.explain.skill_reads import unescape_segment
from apps.runtime.explain.turn_retrieval import DRAFT_TYPE, EXAMPLE_TYPE, VERSION_TYPE
from apps.runtime.turn_store.turn_journal import RenderedUserTurn


@dataclass(frozen=True, slots=True)
class UserTurnSections:
    """The sections of a user turn; a missing one is empty.

    A correction has `draft` and `correction`; an example that people keep for all customers also has `situation`.
    """

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


def split_user_turn(asked: RenderedUserTurn) -> UserTurnSections:
    """The sections of a user turn."""
    part = _decode_part(asked)
    template_texts = {
        template: "".join(s.text for s in part.segments if s.template == template) for template in _templates(part)
    }
    return UserTurnSections(
        part.text,
        template_texts.get("date", ""),
        template_texts.get("off_the_record", ""),
        next((text for template, text in template_texts.items() if template.startswith("delivery.")), ""),
        tuple(unescape_segment(segment.text) for segment in _segments_of(part, VERSION_TYPE)),
        tuple(_corrections(part)),
    )


def _decode_part(asked: RenderedUserTurn) -> SlotText:
    content: Any = asked.wire["content"]  # Any: as it was stored
    segments: Any = asked.segments  # Any: the same
    return decode_segments(Slot.TURN, "".join(block["text"] for block in content), segments)


def _templates(part: SlotText) -> set[str]:
    return {segment.template for segment in part.segments if segment.template}


def _segments_of(part: SlotText, *kinds: str) -> Iterator[Segment]:
    return (segment for segment in part.segments if segment.source and segment.source.record_type in kinds)


def _corrections(part: SlotText) -> Iterator[Mapping[str, str]]:
    corrections: dict[tuple[str, int], dict[str, str]] = {}
    for segment in _segments_of(part, DRAFT_TYPE, EXAMPLE_TYPE):
        if segment.source and (name := _FIELDS.get(segment.source.field)):
            fields = corrections.setdefault((segment.source.record_type, segment.source.record_id), {})
            fields[name] = fields.get(name, "") + unescape_segment(segment.text)
    yield from corrections.values()
