"""Parses a rendered user turn: the product's own lines, and each event with its header and content."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from apps.prompt.builtin_tools import DRAFT_SKILL, SKILL_SAVE
from apps.prompt.instruction_texts import (
    CUT_EVENT_NOTICE,
    DELEGATED_LEAD,
    DELEGATED_RELAY,
    DELIVERY_TEXTS,
    EXAMPLES_LEAD,
    LEARNING_LEAD,
    LINE_CARD,
    OFF_THE_RECORD,
    ONE_OPEN_ESCALATION,
    OPEN_ESCALATIONS,
    SAVE_REMINDER,
    SYSTEM_LINE,
    UNAPPROVED_LEARNING_LEAD,
)
from apps.prompt.parsing.cursor import PARAGRAPH_BREAK, Cursor
from apps.prompt.prompt_input import EventKind, SendMode, TurnEvent
from apps.prompt.rendering.data_fences import OWNER_KINDS, Json, date_line, render_header
from apps.prompt.text_limits import EVENT_CHARACTERS


@dataclass(frozen=True, slots=True)
class ParsedEvent:
    """One event: its header, and the prose or payload below it."""

    kind: EventKind
    text: str
    name: str = ""
    key: str = ""
    line: str = ""
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class ParsedTurn:
    """A user turn; missing parts are empty."""

    now_line: str
    off_the_record: bool
    line_cards: tuple[str, ...]
    delegated_by: str
    send_mode: SendMode | None
    open_escalations: int
    learning: tuple[str, ...]
    unapproved_learning: tuple[Json, ...]
    examples: tuple[Json, ...]
    events: tuple[ParsedEvent, ...]
    # The tool with which the agent is asked to save a procedure.
    save_with: str = ""


_PLACEHOLDER_TIME: Final = datetime(1, 1, 1, tzinfo=UTC)
_DATE: Final = re.compile(
    re.escape(date_line(_PLACEHOLDER_TIME).partition(":")[0])
    + r": [A-Z][a-z]+day, [0-9]{4}-[0-9]{2}-[0-9]{2} at [0-9]{2}:[0-9]{2} [AP]M \S+"
)
_MANY_ESCALATIONS: Final = re.escape(OPEN_ESCALATIONS).replace(re.escape("{count}"), "([2-9]|[1-9][0-9]+)")
_CUT_NOTICE: Final = f"\n{CUT_EVENT_NOTICE.format(characters=EVENT_CHARACTERS)}"
_OWNER_HEADERS: Final = {
    kind: render_header(TurnEvent(kind, "", _PLACEHOLDER_TIME)) for kind in EventKind if kind in OWNER_KINDS
}
_EXAMPLE_FIELDS: Final = frozenset({"situation", "draft", "correction"})
_SAVING_TOOLS: Final = (DRAFT_SKILL, SKILL_SAVE)
_OPENING, _CONTACT, _, _STOP = LINE_CARD


# Header values that a sender can influence, in the form that the renderer writes.
_PLACEHOLDER_FIELDS: Final = {"NAME": "name", "KEY": "key", "LINE": "line"}


def _header_patterns(kind: EventKind) -> Iterator[re.Pattern[str]]:
    """Yield the patterns of the header of a customer's event, with and without the name of its line."""
    for line in ("", "LINE"):
        written = re.escape(render_header(TurnEvent(kind, "", _PLACEHOLDER_TIME, "NAME", "KEY", line)))
        for place, field in _PLACEHOLDER_FIELDS.items():
            written = written.replace(place, rf"(?P<{field}>[^\n<>\[\]]+)")
        yield re.compile(written)


_CUSTOMER_HEADERS: Final = [
    (kind, pattern) for kind in EventKind if kind not in OWNER_KINDS for pattern in _header_patterns(kind)
]
_HEADERS: Final = "|".join(
    [
        *map(re.escape, _OWNER_HEADERS.values()),
        *(re.sub(r"\?P<\w+>", "?:", pattern.pattern) for _, pattern in _CUSTOMER_HEADERS),
    ]
)
_NEXT_HEADER: Final = re.compile(rf"{PARAGRAPH_BREAK}(?={_HEADERS})")


def parse_user_turn(text: str) -> ParsedTurn:
    """Return the parts of a user turn. Raises `UnreadablePrompt` for text that the renderer would not write."""
    cursor = Cursor(text)
    now_line, off_the_record = _system_block(cursor)
    cards, delegated_by = tuple(_line_cards(cursor)), _delegated_by(cursor)
    send_mode = next((mode for mode, words in DELIVERY_TEXTS.items() if cursor.take_part(words)), None)
    escalations = _open_escalations(cursor, "\n" if send_mode else PARAGRAPH_BREAK * (cursor.at > 0))
    save_with = next((tool for tool in _SAVING_TOOLS if cursor.take_part(SAVE_REMINDER.format(tool=tool))), "")
    return ParsedTurn(
        now_line,
        off_the_record,
        cards,
        delegated_by,
        send_mode,
        escalations,
        tuple(_learning(cursor)),
        _unapproved_learning(cursor),
        _examples(cursor),
        tuple(_events(cursor)),
        save_with,
    )


def _system_block(cursor: Cursor) -> tuple[str, bool]:
    if not cursor.take_part(f"{SYSTEM_LINE}\n"):
        return "", False
    if date := cursor.match(_DATE):
        return date[0], cursor.take(f"\n{OFF_THE_RECORD}")
    cursor.expect(OFF_THE_RECORD)
    return "", True


def _line_cards(cursor: Cursor) -> Iterator[str]:
    stands = cursor.take_part(_OPENING)
    while stands:
        line = cursor.line()
        if _CONTACT not in line or not line.endswith(_STOP):
            raise cursor.refusal("Here a line has to say who its contact person is")
        yield line.removesuffix(_STOP)
        stands = cursor.take(f"\n{_OPENING}")


def _delegated_by(cursor: Cursor) -> str:
    if not cursor.take_part(DELEGATED_LEAD):
        return ""
    title = cursor.line()
    cursor.expect(f"\n{DELEGATED_RELAY}")
    return title


def _open_escalations(cursor: Cursor, between: str) -> int:
    if cursor.take(f"{between}{ONE_OPEN_ESCALATION}"):
        return 1
    many = cursor.match(re.compile(f"{between}{_MANY_ESCALATIONS}"))
    return int(many[1]) if many else 0


def _learning(cursor: Cursor) -> Iterator[str]:
    stands = cursor.take_part(f"{LEARNING_LEAD}\n- ")
    while stands:
        yield cursor.prose(cursor.line())
        stands = cursor.take("\n- ")


def _unapproved_learning(cursor: Cursor) -> tuple[Json, ...]:
    payloads = cursor.fence() if cursor.take_part(f"{UNAPPROVED_LEARNING_LEAD}\n") else ()
    if not all(isinstance(payload, str) for payload in payloads):
        raise cursor.refusal("What was learned is text")
    return payloads


def _examples(cursor: Cursor) -> tuple[Json, ...]:
    payloads = cursor.fence() if cursor.take_part(f"{EXAMPLES_LEAD}\n") else ()
    for payload in payloads:
        if not isinstance(payload, Mapping) or payload.keys() - _EXAMPLE_FIELDS or "correction" not in payload:
            raise cursor.refusal("An example is an object with a correction")
    return payloads


def _events(cursor: Cursor) -> Iterator[ParsedEvent]:
    while not cursor.is_at_end:
        if cursor.at:
            cursor.expect(PARAGRAPH_BREAK)
        yield _event(cursor)


def _event(cursor: Cursor) -> ParsedEvent:
    for kind, words in _OWNER_HEADERS.items():
        if cursor.take(words):
            return _owner_event(cursor, kind)
    for kind, pattern in _CUSTOMER_HEADERS:
        if found := cursor.match(pattern):
            return _fenced_event(cursor, kind, found.groupdict())
    raise cursor.refusal("Here the header of an event has to stand")


def _owner_event(cursor: Cursor, kind: EventKind) -> ParsedEvent:
    """Parse an owner's event: prose up to the next header; prose itself cannot contain a header."""
    following = _NEXT_HEADER.search(cursor.text, cursor.at)
    body = cursor.until(following.start() if following else len(cursor.text))
    text = body.removesuffix(_CUT_NOTICE)
    if text and not text.startswith("\n"):
        raise cursor.refusal("Nothing may follow a header in its line")
    return ParsedEvent(kind, cursor.prose(text[1:]) if text else "", is_cut=text != body)


def _fenced_event(cursor: Cursor, kind: EventKind, named: Mapping[str, str]) -> ParsedEvent:
    cursor.expect("\n")
    match cursor.fence():
        case [str(text)]:
            return ParsedEvent(kind, text, named["name"], named["key"], named.get("line", ""), cursor.take(_CUT_NOTICE))
        case _:
            raise cursor.refusal("An event is one text")
