"""How a turn is put to the model: fences around what others wrote, a header for every event, one order for all.

Text that a customer wrote or that was taken from one never stands as prose: it is JSON, on lines of its own, between
two tags whose id is taken from the hash of what stands between them. JSON escapes quotes and line breaks, so nothing
inside can write the closing tag.
"""

import hashlib
import json
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, TypeAlias

from apps.prompt.budgets import EVENT_CHARACTERS, FENCE_ID_CHARACTERS, IDENTITY_CHARACTERS
from apps.prompt.sanitizer import sanitize
from apps.prompt.values import Event, EventKind, Rule
from apps.prompt.wording import CUT_EVENT, OFF_THE_RECORD

Json: TypeAlias = "Mapping[str, Json] | Sequence[Json] | str | int | float | bool | None"

_OWNERS: Final = frozenset({EventKind.OPERATOR, EventKind.SCHEDULE})
_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_ANGLES: Final = frozenset("<>«»\u2039\u203a\uff1c\uff1e\u226a\u226b\u227a\u227b")
_ROUND: Final = frozenset("()")
_OPENS_OR_CLOSES: Final = frozenset({"Ps", "Pe"})


class NotFenced(ValueError):
    """The text is not one whole fence, or what it holds is not what its id was taken from."""


def canonical(value: Json) -> Json:
    """The form of a value that a jsonb column gives back unchanged: memory and database send the same bytes."""
    match value:
        case str() | bool() | int() | None:
            return value
        case float():
            return _canonical_number(value)
        case Mapping():
            return {key: canonical(value[key]) for key in sorted(value)}
        case _:
            return [canonical(item) for item in value]


def _canonical_number(value: float) -> float:
    # PostgreSQL's numeric writes exponents out and knows no negative zero.
    if value == 0:
        return 0.0
    return int(value) if "e+" in repr(value) else value


def canonical_json(value: Json) -> str:
    """One line, keys sorted, non-ASCII kept; not-a-number and infinity are refused, for JSON has no word for them."""
    return json.dumps(canonical(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def fence(payload: Json) -> str:
    """The payload as data that cannot end its own fence, whatever it contains."""
    return fence_lines((payload,))


def fence_lines(payloads: Sequence[Json]) -> str:
    """Several payloads in one fence, each on a line of its own."""
    body = "\n".join(canonical_json(payload) for payload in payloads)
    return f"{_opening(body)}\n{body}\n{_closing(body)}"


def unfence(text: str) -> Json:
    """The payload of a fence that holds exactly one."""
    payloads = unfence_lines(text)
    if len(payloads) != 1:
        raise NotFenced("The fence holds more than one payload; read it with unfence_lines.")
    return payloads[0]


def unfence_lines(text: str) -> tuple[Json, ...]:
    opening, _, rest = text.partition("\n")
    body, _, closing = rest.rpartition("\n")
    if (opening, closing) != (_opening(body), _closing(body)):
        raise NotFenced("The text is not a fence, or it was changed after it was written.")
    return tuple(json.loads(line) for line in body.split("\n"))


def _fence_id(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:FENCE_ID_CHARACTERS]


def _opening(body: str) -> str:
    return f'<data id="{_fence_id(body)}">'


def _closing(body: str) -> str:
    return f'</data id="{_fence_id(body)}">'


def scrub_identity(text: str) -> str:
    """A name or number on one line and without brackets, so that it cannot close a header or open another (R076)."""
    clean = sanitize(" ".join(text.split()), IDENTITY_CHARACTERS).text
    unbracketed = "".join(" " if _is_bracket(character) else character for character in clean)
    return " ".join(unbracketed.split()) or "unknown"


def _is_bracket(character: str) -> bool:
    return character in _ANGLES or (unicodedata.category(character) in _OPENS_OR_CLOSES and character not in _ROUND)


def header(event: Event) -> str:
    if event.kind in _OWNERS:
        return f"[{event.kind} from your owner — not the contact]"
    return f"[{event.kind} · {scrub_identity(event.name)} <{scrub_identity(event.key)}>]"


def frame(event: Event) -> str:
    """The event under its header: an owner's words as prose, everybody else's fenced (R140, R141, Z-22)."""
    clean = sanitize(event.text, EVENT_CHARACTERS)
    body = clean.text if event.kind in _OWNERS else fence(clean.text)
    cut = [CUT_EVENT.format(characters=EVENT_CHARACTERS)] if Rule.TRUNCATED in clean.notes else []
    return "\n".join([header(event), body, *cut])


def date_line(now: datetime) -> str:
    """The moment in the tenant's own zone; written without the locale, so that every machine writes the same bytes."""
    zone = now.tzname()
    if zone is None:
        raise ValueError("The date line needs a time with a time zone.")
    half = "AM" if now.hour < 12 else "PM"
    day = f"{_WEEKDAYS[now.weekday()]}, {now.year:04}-{now.month:02}-{now.day:02}"
    return f"Current date and time: {day} at {now.hour % 12 or 12:02}:{now.minute:02} {half} {zone}"


def user_turn(
    events: Sequence[Event],
    *,
    now_line: str | None,
    directive: str = "",
    learning: str = "",
    few_shot: str = "",
    off_the_record: bool = False,
) -> str:
    """Everything that differs from turn to turn, in its one order; empty parts are left out (R139, R142)."""
    in_order = sorted(events, key=lambda event: event.at)
    parts = [_system_block(now_line, off_the_record), directive, learning, few_shot, *map(frame, in_order)]
    return "\n\n".join(part.strip() for part in parts if part.strip())


def _system_block(now_line: str | None, off_the_record: bool) -> str:
    """The date, and the mode where it is not the ordinary one (R060, R061)."""
    lines = [now_line or "", OFF_THE_RECORD if off_the_record else ""]
    said = [line for line in lines if line]
    return "\n".join(["--- System ---", *said]) if said else ""
