"""Passages on their way into a prompt: cleaned, cut into lines, and each line under its owner's name."""

import json
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from apps.prompt.prompt_input import Passage, Rule, Slot, Source
from apps.prompt.rendering.segments import Note, Segment
from apps.prompt.sanitizer.clean import Sanitized, sanitize
from apps.prompt.text_limits import SECTION_CHARACTERS

Run: TypeAlias = list[Segment]

BREAK: Final = Segment("\n", None, "break")
GAP: Final = Segment("\n\n", None, "gap")
_encoded: Final = json.JSONEncoder(ensure_ascii=False).encode


class Scribe:
    """Cleans what others wrote for one slot and remembers which rules had to touch it."""

    def __init__(self, slot: Slot) -> None:
        self.slot = slot
        self._tripped: set[Rule] = set()

    @property
    def notes(self) -> tuple[Note, ...]:
        return tuple(Note(self.slot, rule) for rule in sorted(self._tripped))

    def clean(self, text: str, cap: int) -> Sanitized:
        cleaned = sanitize(text, cap)
        self._tripped.update(cleaned.notes)
        return cleaned

    def note(self, rule: Rule) -> None:
        self._tripped.add(rule)

    def stripped(self, text: str, cap: int) -> str:
        return self.clean(text, cap).text.strip()

    def one_line(self, text: str, cap: int) -> str:
        joined = " ".join(text.split())
        cleaned = self.clean(joined, cap).text
        return joined if cleaned == joined else " ".join(cleaned.split())

    def passage(self, passage: Passage | None, cap: int = SECTION_CHARACTERS) -> Run:
        """A single text as prose, line by line."""
        return lines(self.stripped(passage.text, cap), passage.source) if passage else []

    def each(self, passages: Iterable[Passage], total: int, single: int = SECTION_CHARACTERS) -> list[Passage]:
        """The passages that say something, in their one order, together no longer than the total."""
        cleaned: list[Passage] = []
        for passage in in_order(passages):
            if text := self.stripped(passage.text, min(single, total)):
                cleaned.append(Passage(text, passage.source))
                total -= len(text)
        return cleaned


def words(template: str, text: str) -> Segment:
    """The product's own words under their name."""
    return Segment(text, None, template)


def in_order(passages: Iterable[Passage]) -> list[Passage]:
    """The same order whichever way the rows come in; passages of one field keep the order that is the text's own."""
    return sorted(passages, key=lambda passage: (passage.position, *source_key(passage.source)))


def source_key(source: Source) -> tuple[str, int, str]:
    return source.record_type, source.record_id, source.field


def lines(text: str, source: Source) -> Run:
    """One segment for each line, with the line break that ends it."""
    if "\n" not in text:
        return [Segment(text, source, "", 1)] if text else []
    *ended, last = text.split("\n")
    run = [Segment(f"{line}\n", source, "", number) for number, line in enumerate(ended, 1)]
    return [*run, Segment(last, source, "", len(run) + 1)] if last else run


def escaped(run: Run) -> Run:
    """The inside of a JSON string: escaping goes character by character, so the pieces make the whole."""
    return [Segment(_encoded(segment.text)[1:-1], segment.source, "", segment.line) for segment in run]


def strung(runs: Iterable[Run], between: Segment) -> Run:
    """The runs that say something, with the same words between each two."""
    strung_together: Run = []
    for run in runs:
        if run:
            strung_together += (between, *run) if strung_together else run
    return strung_together


def section(template: str, title: str, body: Run) -> Run:
    """The body under its title; an empty body leaves the title out."""
    return [words(f"title.{template}", f"## {title}\n"), *body] if body else []


def titled(template: str, title: str, sections: Sequence[Run]) -> Run:
    """A whole slot; nothing to say leaves it out, title and all."""
    body = strung(sections, GAP)
    return [words(f"title.{template}", f"# {title}\n\n"), *body] if body else []
