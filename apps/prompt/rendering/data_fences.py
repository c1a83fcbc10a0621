"""Fences around text that others wrote, and lines that only the product writes: headers and the date.

Text that came from a customer is never prose in a prompt: it is JSON on separate lines, between two tags whose id is derived from
the hash of the content. JSON escapes quotes and line breaks, so nothing inside the fence can form the closing tag.
"""

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Final, TypeAlias

from apps.prompt.prompt_input import EventKind, Slot, TextProvenance, TurnEvent
from apps.prompt.rendering.passages import (
    PassageRenderer,
    SegmentList,
    escape_json_segments,
    join_segments,
    template_segment,
)
from apps.prompt.rendering.segments import Segment
from apps.prompt.text_limits import FENCE_ID_CHARACTERS, IDENTITY_CHARACTERS

Json: TypeAlias = "Mapping[str, Json] | Sequence[Json] | str | int | float | bool | None"

OWNER_KINDS: Final = frozenset({EventKind.OPERATOR, EventKind.SCHEDULE})
# The owner of an event that no row stores.
UNSTORED_EVENT: Final = TextProvenance("event", 0, 0)
_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_ANGLE_BRACKETS: Final = frozenset("<>«»\u2039\u203a\uff1c\uff1e\u226a\u226b\u227a\u227b")
_ROUND_BRACKETS: Final = frozenset("()")
_OWNER_CLAIM: Final = re.compile(r"\bfrom\W{1,8}your\W{1,8}owner\b", re.IGNORECASE)
_BRACKET_CATEGORIES: Final = frozenset({"Ps", "Pe"})
_QUOTE: Final = template_segment("fence", '"')
_NO_LISTS: Final[Mapping[str, Sequence[SegmentList]]] = MappingProxyType({})
_NEXT_PAYLOAD: Final = template_segment("fence", "\n")


class NotFenced(ValueError):
    """The text is not exactly one fence, or its content does not match its id."""


def canonical_value(value: Json) -> Json:
    """Return a value as a jsonb column would return it, so that values from memory and from the database send the same bytes.

    Raises ValueError for not-a-number and infinity, which JSON lacks.
    """
    match value:
        case str() | bool() | int() | None:
            return value
        case float():
            return _canonical_number(value)
        # A plain dict is checked first: checking an abstract class takes ten times as long, and a request has hundreds of dicts.
        case dict() | Mapping():
            return {key: canonical_value(value[key]) for key in sorted(value)}
        case _:
            return [canonical_value(item) for item in value]


def _canonical_number(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError(f"JSON has no word for {value}.")
    # PostgreSQL's numeric type expands exponents and has no negative zero.
    if value == 0:
        return 0.0
    return int(value) if "e+" in repr(value) else value


def canonical_json(value: Json) -> str:
    """Return one line, keys sorted, non-ASCII kept; not-a-number and infinity are refused, since JSON lacks them."""
    return json.dumps(canonical_value(value), ensure_ascii=False, separators=(",", ":"))


def fence(payload: Json) -> str:
    """Return the payload as fenced data that cannot close its own fence, whatever it contains."""
    return fence_lines((payload,))


def fence_lines(payloads: Sequence[Json]) -> str:
    """Return several payloads in one fence, one per line."""
    body = "\n".join(canonical_json(payload) for payload in payloads)
    return f"{_opening_tag(body)}\n{body}\n{_closing_tag(body)}"


def fence_segments(payloads: Sequence[SegmentList]) -> SegmentList:
    """Return a fence like `fence_lines` around payloads whose segments have owners; each payload is one line of JSON."""
    body = "\n".join("".join([segment.text for segment in payload]) for payload in payloads)
    run = [template_segment("fence", f"{_opening_tag(body)}\n")]
    for at, payload in enumerate(payloads):
        run += (_NEXT_PAYLOAD, *payload) if at else payload
    return [*run, template_segment("fence", f"\n{_closing_tag(body)}")]


def text_payload(text: SegmentList) -> SegmentList:
    return [_QUOTE, *escape_json_segments(text), _QUOTE]


def list_payload(texts: Sequence[SegmentList]) -> SegmentList:
    """Return a list of texts in the form of `canonical_json`."""
    items = join_segments(map(text_payload, texts), template_segment("fence", ","))
    return [template_segment("fence", "["), *items, template_segment("fence", "]")]


def object_payload(
    texts: Mapping[str, SegmentList], lists: Mapping[str, Sequence[SegmentList]] = _NO_LISTS
) -> SegmentList:
    """Return an object of texts, and of lists of them, in the form of `canonical_json`."""
    payloads = {name: text_payload(text) for name, text in texts.items()}
    payloads |= {name: list_payload(each) for name, each in lists.items()}
    run: SegmentList = []
    for at, key in enumerate(sorted(payloads)):
        run += (template_segment("fence", f'{"," if at else "{"}"{key}":'), *payloads[key])
    return [*run, template_segment("fence", "}")]


def unfence(text: str) -> Json:
    """Return the payload of a text that is exactly one fence with one payload."""
    payloads = unfence_lines(text)
    if len(payloads) != 1:
        raise NotFenced("The fence holds more than one payload; read it with unfence_lines.")
    return payloads[0]


def unfence_lines(text: str) -> tuple[Json, ...]:
    opening, _, rest = text.partition("\n")
    body, _, closing = rest.rpartition("\n")
    if (opening, closing) != (_opening_tag(body), _closing_tag(body)):
        raise NotFenced("The text is not a fence, or it was changed after it was written.")
    return tuple(json.loads(line) for line in body.split("\n"))


def _fence_id(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:FENCE_ID_CHARACTERS]


def _opening_tag(body: str) -> str:
    return f'<data id="{_fence_id(body)}">'


def _closing_tag(body: str) -> str:
    return f'</data id="{_fence_id(body)}">'


def scrub(text: str, cap: int, scribe: PassageRenderer) -> str:
    """Return one clean line without brackets. Removing a bracket may form another, so removal repeats until nothing changes."""
    before, now = "", _without_brackets(text)
    while now != before:
        before, now = now, _without_brackets(scribe.one_line(now, cap))
    return now


def _without_brackets(text: str) -> str:
    return " ".join("".join([" " if _is_bracket(character) else character for character in text]).split())


def _is_bracket(character: str) -> bool:
    return character in _ANGLE_BRACKETS or (
        unicodedata.category(character) in _BRACKET_CATEGORIES and character not in _ROUND_BRACKETS
    )


def render_header(event: TurnEvent) -> str:
    return "".join(segment.text for segment in header_segments(event, PassageRenderer(Slot.TURN)))


def header_segments(event: TurnEvent, scribe: PassageRenderer) -> SegmentList:
    """Return the header line of an event; values that the sender can influence contain no brackets (R140)."""
    if event.kind in OWNER_KINDS:
        return [template_segment("header", f"[{event.kind} from your owner — not the contact]")]
    run = [template_segment("header", f"[{event.kind} · "), _identity_segment(event, event.name, scribe)]
    run += [
        template_segment("header", " <"),
        _identity_segment(event, event.key, scribe),
        template_segment("header", ">"),
    ]
    if event.line:
        run += [template_segment("header", " · line "), _identity_segment(event, event.line, scribe)]
    return [*run, template_segment("header", "]")]


def _identity_segment(event: TurnEvent, text: str, scribe: PassageRenderer) -> Segment:
    # The model would read a name that claims to be the owner before it recalls the contract.
    known = _OWNER_CLAIM.sub("redacted", scrub(text, IDENTITY_CHARACTERS, scribe))
    return Segment(known, event.source or UNSTORED_EVENT, "", 1) if known else template_segment("header", "unknown")


def date_line(now: datetime) -> str:
    """Return the time in the tenant's zone, independent of the locale, so that every machine writes the same bytes."""
    zone = now.tzname()
    if zone is None:
        raise ValueError("The date line needs a time with a time zone.")
    half = "AM" if now.hour < 12 else "PM"
    day = f"{_WEEKDAYS[now.weekday()]}, {now.year:04}-{now.month:02}-{now.day:02}"
    return f"Current date and time: {day} at {now.hour % 12 or 12:02}:{now.minute:02} {half} {zone}"
