"""The parts of an assembled prompt: slots made of segments, so that every byte has an owner."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import accumulate, pairwise
from operator import attrgetter
from typing import Final, NamedTuple, TypeAlias, TypedDict

from apps.prompt.prompt_input import SEPARATOR, SanitizerRule, Slot, TextProvenance

EncodedOwner: TypeAlias = "str | list[str | int]"


class Segment(NamedTuple):
    """A run of text with one owner: a line of a record, or the product's own words, which `template` names.

    `line` counts from 1 within the source's field, as rendered; it is 0 for the product's own words. A prompt has a thousand
    segments, so this is a tuple: a frozen dataclass takes more than twice as long to create.
    """

    text: str
    source: TextProvenance | None
    template: str = ""
    line: int = 0


_SOURCE_FIELDS: Final = attrgetter(*(field.name for field in fields(TextProvenance)))
_SEPARATOR: Final = Segment(SEPARATOR, None, "separator")


@dataclass(frozen=True, slots=True)
class Span:
    """The position of a segment in bytes of UTF-8, as a half-open range."""

    start: int
    end: int
    slot: Slot
    segment: Segment


@dataclass(frozen=True)
class SlotText:
    """The finished text of one slot, which equals its joined segments."""

    slot: Slot
    segments: tuple[Segment, ...]

    @cached_property
    def text(self) -> str:
        return "".join([segment.text for segment in self.segments])

    @cached_property
    def behind(self) -> str:
        """Return the text as a block after another one, including the separator."""
        return SEPARATOR + self.text

    @cached_property
    def text_sha256(self) -> str:
        """Return the hash of the text alone."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @cached_property
    def sha256(self) -> str:
        """Return the hash of the bytes and their owners, since equal words by different authors are different parts."""
        stated = json.dumps([self.slot, self.text_sha256, encode_segments(self)], separators=(",", ":"))
        return hashlib.sha256(stated.encode()).hexdigest()

    def spans(self) -> Iterator[Span]:
        """Yield the spans of the slot in order, covering every byte."""
        return _spans((self.slot, segment) for segment in self.segments)


@dataclass(frozen=True, slots=True)
class SanitizerNote:
    """One change that the sanitizer made to the text of one slot (R075)."""

    slot: Slot
    rule: SanitizerRule


@dataclass(frozen=True, slots=True)
class PromptSnapshot:
    """The frozen prompt of a session, in the order sent, and the changes made by the sanitizer."""

    parts: tuple[SlotText, ...]
    notes: tuple[SanitizerNote, ...] = ()

    @property
    def text(self) -> str:
        return SEPARATOR.join(part.text for part in self.parts)

    @property
    def blocks(self) -> tuple[str, ...]:
        """Return one block per slot. Joined, the blocks are `text`, so every block but the first begins with a separator."""
        return tuple(part.behind if at else part.text for at, part in enumerate(self.parts))

    def spans(self) -> Iterator[Span]:
        """Yield spans covering every byte of the whole text; a separator belongs to the slot whose block begins with it."""
        return _spans(self._segments())

    def _segments(self) -> Iterator[tuple[Slot, Segment]]:
        for at, part in enumerate(self.parts):
            if at:
                yield part.slot, _SEPARATOR
            for segment in part.segments:
                yield part.slot, segment

    @property
    def shared(self) -> tuple[SlotText, ...]:
        """Return slots 1-4, which are the same for every customer of the agent and end at breakpoint A."""
        return tuple(part for part in self.parts if part.slot is not Slot.PROFILE)

    @property
    def sha256(self) -> str:
        """Return the hash of the bytes as sent."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def _spans(segments: Iterator[tuple[Slot, Segment]]) -> Iterator[Span]:
    start = 0
    for slot, segment in segments:
        end = start + len(segment.text.encode())
        yield Span(start, end, slot, segment)
        start = end


class SegmentTable(TypedDict):
    """The segments of a part as JSON: the owners, and one list with owner, line and byte length of each segment."""

    owners: list[EncodedOwner]
    runs: list[int]


class SegmentMismatch(ValueError):
    """The stored segments do not belong to the stored text."""


def encode_segments(part: SlotText) -> SegmentTable:
    """Return the segment table of a part. Owners are in order of appearance: a record as a list, a template by its name."""
    places: dict[TextProvenance | str, int] = {}
    runs: list[int] = []
    for segment in part.segments:
        place = places.setdefault(segment.source or segment.template, len(places))
        runs += (place, segment.line, len(segment.text.encode()))
    return {"owners": [_encode_owner(owner) for owner in places], "runs": runs}


def decode_segments(slot: Slot, text: str, value: SegmentTable) -> SlotText:
    """Return the part with this text and table. Raises `SegmentMismatch` if the table belongs to another text."""
    try:
        part = SlotText(slot, tuple(_read_segments(text.encode(), value)))
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise SegmentMismatch("The stored segments cannot be read. Assemble the prompt anew.") from error
    if part.text != text or encode_segments(part) != value:
        raise SegmentMismatch("The stored segments are not those of the stored text. Assemble the prompt anew.")
    return part


def _read_segments(content: bytes, value: SegmentTable) -> Iterator[Segment]:
    owners = [_decode_owner(owner) for owner in value["owners"]]
    places, numbers, lengths = (value["runs"][at::3] for at in range(3))
    bounds = pairwise(accumulate(lengths, initial=0))
    for place, number, (start, end) in zip(places, numbers, bounds, strict=True):
        source, template = owners[place]
        yield Segment(content[start:end].decode(), source, template, number)


def _encode_owner(owner: TextProvenance | str) -> EncodedOwner:
    return owner if isinstance(owner, str) else list(_SOURCE_FIELDS(owner))


def _decode_owner(owner: EncodedOwner) -> tuple[TextProvenance | None, str]:
    match owner:
        case str():
            return None, owner
        case [str(kind), int(record_id), int(version), str(field), str(author), str(approver), str(taint)]:
            return TextProvenance(kind, record_id, version, field, author, approver, taint), ""
        case _:
            raise SegmentMismatch("An owner is a record or the name of a template.")
