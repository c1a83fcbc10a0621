"""Renders passages for a prompt: cleans them and splits them into lines, each marked with its owner."""

import json
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from apps.prompt.prompt_input import Passage, SanitizerRule, Slot, TextProvenance
from apps.prompt.rendering.segments import SanitizerNote, Segment
from apps.prompt.sanitizer.clean import SanitizedText, sanitize
from apps.prompt.text_limits import SECTION_CHARACTERS

SegmentList: TypeAlias = list[Segment]

LINE_BREAK: Final = Segment("\n", None, "break")
PARAGRAPH_BREAK: Final = Segment("\n\n", None, "gap")
_encode_json: Final = json.JSONEncoder(ensure_ascii=False).encode


class PassageRenderer:
    """Cleans other people's text for one slot, and records the sanitizer rules that changed it."""

    def __init__(self, slot: Slot) -> None:
        self.slot = slot
        self._tripped: set[SanitizerRule] = set()

    @property
    def notes(self) -> tuple[SanitizerNote, ...]:
        return tuple(SanitizerNote(self.slot, rule) for rule in sorted(self._tripped))

    def clean(self, text: str, cap: int) -> SanitizedText:
        cleaned = sanitize(text, cap)
        self._tripped.update(cleaned.notes)
        return cleaned

    def note(self, rule: SanitizerRule) -> None:
        self._tripped.add(rule)

    def stripped(self, text: str, cap: int) -> str:
        return self.clean(text, cap).text.strip()

    def one_line(self, text: str, cap: int) -> str:
        joined = " ".join(text.split())
        cleaned = self.clean(joined, cap).text
        return joined if cleaned == joined else " ".join(cleaned.split())

    def passage(self, passage: Passage | None, cap: int = SECTION_CHARACTERS) -> SegmentList:
        """Return one passage as prose, line by line."""
        return line_segments(self.stripped(passage.text, cap), passage.source) if passage else []

    def each(self, passages: Iterable[Passage], total: int, single: int = SECTION_CHARACTERS) -> list[Passage]:
        """Return the non-empty passages in order, up to a total length."""
        cleaned: list[Passage] = []
        for passage in sort_passages(passages):
            if text := self.stripped(passage.text, min(single, total)):
                cleaned.append(Passage(text, passage.source))
                total -= len(text)
        return cleaned


def template_segment(template: str, text: str) -> Segment:
    """Return the product's own words as a segment with the name of their template."""
    return Segment(text, None, template)


def sort_passages(passages: Iterable[Passage]) -> list[Passage]:
    """Return passages in an order independent of the order of rows; passages of one field keep their order in the text."""
    return sorted(passages, key=lambda passage: (passage.position, *source_key(passage.source)))


def source_key(source: TextProvenance) -> tuple[str, int, str]:
    return source.record_type, source.record_id, source.field


def line_segments(text: str, source: TextProvenance) -> SegmentList:
    """Return one segment per line, including the line break at its end."""
    if "\n" not in text:
        return [Segment(text, source, "", 1)] if text else []
    *ended, last = text.split("\n")
    run = [Segment(f"{line}\n", source, "", number) for number, line in enumerate(ended, 1)]
    return [*run, Segment(last, source, "", len(run) + 1)] if last else run


def escape_json_segments(run: SegmentList) -> SegmentList:
    """Escape segments as the inside of a JSON string. Escaping works per character, so the segments join to the escaped whole."""
    return [Segment(_encode_json(segment.text)[1:-1], segment.source, "", segment.line) for segment in run]


def join_segments(runs: Iterable[SegmentList], between: Segment) -> SegmentList:
    """Join the non-empty runs, with the segment `between` after each but the last."""
    strung_together: SegmentList = []
    for run in runs:
        if run:
            strung_together += (between, *run) if strung_together else run
    return strung_together


def titled_section(template: str, title: str, body: SegmentList) -> SegmentList:
    """Return the body under its title; nothing if the body is empty."""
    return [template_segment(f"title.{template}", f"## {title}\n"), *body] if body else []


def titled_slot(template: str, title: str, sections: Sequence[SegmentList]) -> SegmentList:
    """Return a whole slot; nothing, not even the title, if there are no sections."""
    body = join_segments(sections, PARAGRAPH_BREAK)
    return [template_segment(f"title.{template}", f"# {title}\n\n"), *body] if body else []
