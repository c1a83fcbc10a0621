"""The user turn: everything that differs from turn to turn, in its one order (R127, R139, R142)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from apps.prompt.instruction_texts import (
    CUT_EVENT,
    DELEGATED,
    DELEGATED_RELAY,
    DELIVERIES,
    EXAMPLES_LEAD,
    LAST_STEP,
    LEARNING_LEAD,
    LINE_CARD,
    NUDGE,
    OFF_THE_RECORD,
    ONE_OPEN_ESCALATION,
    OPEN_ESCALATIONS,
    SYSTEM_LINE,
    UNAPPROVED_LEARNING_LEAD,
)
from apps.prompt.prompt_input import Delegation, Event, Example, LineCard, Passage, Rule, Slot, TurnInput
from apps.prompt.rendering.data_fences import OWNERS, UNSTORED, fenced, header_run, object_payload, scrub, text_payload
from apps.prompt.rendering.passages import BREAK, GAP, Run, Scribe, in_order, lines, source_key, strung, words
from apps.prompt.rendering.segments import Note, Part, Segment
from apps.prompt.text_limits import (
    EVENT_CHARACTERS,
    IDENTITY_CHARACTERS,
    LEARNING_BULLET_CHARACTERS,
    LEARNING_BULLETS,
)

_SYSTEM: Final = words("title.system", SYSTEM_LINE)
_OFF_THE_RECORD: Final = words("off_the_record", OFF_THE_RECORD)
_LINE, _CONTACT, _TITLED, _STOP = (words("line_card", text) for text in LINE_CARD)
_DELEGATED: Final = words("delegation", DELEGATED)
_UNKNOWN: Final = words("delegation", "unknown")
_RELAY: Final = words("delegation", DELEGATED_RELAY)
_DELIVERIES: Final = {mode: words(f"delivery.{mode}", text) for mode, text in DELIVERIES.items()}
_LEARNING_LEAD: Final = words("lead.learning", LEARNING_LEAD)
_UNAPPROVED_LEAD: Final = words("lead.unapproved_learning", UNAPPROVED_LEARNING_LEAD)
_EXAMPLES_LEAD: Final = words("lead.examples", EXAMPLES_LEAD)
_BULLET: Final = words("bullet", "- ")
_MARKERS: Final = " \t-*\u2022"
_CUT: Final = words("cut_event", CUT_EVENT.format(characters=EVENT_CHARACTERS))


@dataclass(frozen=True, slots=True)
class Turned:
    """A user turn as it is sent, and what was neutralised on its way in."""

    part: Part
    notes: tuple[Note, ...] = ()

    @property
    def text(self) -> str:
        return self.part.text


def last_step() -> str:
    """What a model is told behind everything else, when no call of a tool can follow (R125)."""
    return f"{SYSTEM_LINE}\n{LAST_STEP}"


def user_turn(given: TurnInput) -> Turned:
    """From the most general to what just happened; whatever is empty is left out."""
    scribe = Scribe(Slot.TURN)
    sections = [
        _system_block(given),
        strung((_line_card(card, scribe) for card in _in_line_order(given.line_cards)), BREAK),
        _delegated(given.delegation, scribe),
        _delivery(given),
        [words("save_reminder", NUDGE.format(tool=given.save_with))] if given.save_with else [],
        *_learned(given.learning, scribe),
        _examples(given.examples, scribe),
        *(_framed(event, scribe) for event in sorted(given.events, key=_event_key)),
    ]
    return Turned(Part(Slot.TURN, tuple(strung(sections, GAP))), scribe.notes)


def without_learning(text: str, bullets: str) -> str:
    """A user turn as it would read without these bullets, under whichever lead they were shown, as prose or as data (R146)."""
    shown = list(_bullets(Passage(bullets, UNSTORED), Scribe(Slot.TURN)))[:LEARNING_BULLETS]
    if not shown:
        return text
    prose = strung(([_BULLET, bullet] for bullet in shown), BREAK)
    for block in (prose, fenced([text_payload([bullet]) for bullet in shown])):
        text = _without_section(text, "".join(segment.text for segment in block))
    return text


def _without_section(text: str, block: str) -> str:
    """Sections are parted by a blank line; this is the one that is the block under its lead."""
    led = f"{BREAK.text}{block}"
    at = f"{text}{GAP.text}".find(f"{led}{GAP.text}")
    if at < 0:
        return text
    before, after = text[:at].rpartition(GAP.text)[0], text[at + len(led) :].removeprefix(GAP.text)
    return GAP.text.join(said for said in (before, after) if said)


def _system_block(given: TurnInput) -> Run:
    """The date, and the mode where it is not the ordinary one (R060, R061)."""
    date = [words("date", given.now_line)] if given.now_line else []
    mode = [_OFF_THE_RECORD] if given.off_the_record else []
    said = strung([date, mode], BREAK)
    return [_SYSTEM, BREAK, *said] if said else []


def _in_line_order(cards: Iterable[LineCard]) -> list[LineCard]:
    return sorted(cards, key=lambda card: (card.line, *source_key(card.assigned_name.source)))


def _line_card(card: LineCard, scribe: Scribe) -> Run:
    """An operator's words on one line; the line is named as an event's header names it (R187)."""
    line = lines(scrub(card.line, IDENTITY_CHARACTERS, scribe), card.assigned_name.source)
    name = _scrubbed(card.assigned_name, scribe)
    title = _scrubbed(card.assigned_title, scribe) if card.assigned_title else []
    return [_LINE, *line, _CONTACT, *strung([name, title], _TITLED), _STOP] if line and name else []


def _scrubbed(passage: Passage, scribe: Scribe) -> Run:
    return lines(scrub(passage.text, IDENTITY_CHARACTERS, scribe), passage.source)


def _delegated(delegation: Delegation | None, scribe: Scribe) -> Run:
    """Who asked, and where the answer goes (R054)."""
    if delegation is None:
        return []
    title = lines(scrub(delegation.parent_title, IDENTITY_CHARACTERS, scribe), delegation.source)
    return [_DELEGATED, *(title or [_UNKNOWN]), BREAK, _RELAY]


def _delivery(given: TurnInput) -> Run:
    """What becomes of the reply, and what is still in a colleague's hands (R134, R135)."""
    directive = [_DELIVERIES[given.send_mode]] if given.send_mode else []
    return strung([directive, _open_escalations(given.open_escalations)], BREAK)


def _open_escalations(count: int) -> Run:
    if count <= 0:
        return []
    said = ONE_OPEN_ESCALATION if count == 1 else OPEN_ESCALATIONS.format(count=count)
    return [words("open_escalations", said)]


def _learned(learning: Iterable[Passage], scribe: Scribe) -> list[Run]:
    """At most ten bullets of a line each (R145); what no person let through is data here as everywhere."""
    bullets = [bullet for passage in in_order(learning) for bullet in _bullets(passage, scribe)]
    if len(bullets) > LEARNING_BULLETS:
        scribe.note(Rule.TRUNCATED)
    shown = bullets[:LEARNING_BULLETS]
    prose = [[_BULLET, bullet] for bullet in shown if _is_approved(bullet)]
    payloads = [text_payload([bullet]) for bullet in shown if not _is_approved(bullet)]
    return [
        [_LEARNING_LEAD, BREAK, *strung(prose, BREAK)] if prose else [],
        [_UNAPPROVED_LEAD, BREAK, *fenced(payloads)] if payloads else [],
    ]


def _bullets(passage: Passage, scribe: Scribe) -> Iterator[Segment]:
    for number, line in enumerate(passage.text.split("\n"), 1):
        if said := scribe.one_line(line.lstrip(_MARKERS), LEARNING_BULLET_CHARACTERS):
            yield Segment(said, passage.source, "", number)


def _is_approved(bullet: Segment) -> bool:
    return bullet.source is not None and bool(bullet.source.approver)


def _examples(examples: Iterable[Example], scribe: Scribe) -> Run:
    """Data, for a draft repeats what a customer wrote (R164)."""
    ordered = sorted(examples, key=lambda example: (example.draft.position, *source_key(example.draft.source)))
    payloads = [payload for example in ordered if (payload := _example(example, scribe))]
    return [_EXAMPLES_LEAD, BREAK, *fenced(payloads)] if payloads else []


def _example(example: Example, scribe: Scribe) -> Run:
    texts = {"situation": example.situation, "draft": example.draft, "correction": example.correction}
    runs = {name: scribe.passage(passage) for name, passage in texts.items()}
    return object_payload({name: run for name, run in runs.items() if run}) if runs["correction"] else []


def _event_key(event: Event) -> tuple[datetime, tuple[str, int, str], tuple[str, ...]]:
    told = (event.kind.value, event.key, event.name, event.line, event.text)
    return event.at, source_key(event.source or UNSTORED), told


def _framed(event: Event, scribe: Scribe) -> Run:
    """The event under its header: an owner's words as prose, everybody else's fenced (R140, R141, Z-22)."""
    clean = scribe.clean(event.text, EVENT_CHARACTERS)
    source = event.source or UNSTORED
    is_prose = event.kind in OWNERS
    body = lines(clean.text.strip(), source) if is_prose else fenced([text_payload(lines(clean.text, source))])
    cut = [_CUT] if Rule.TRUNCATED in clean.notes else []
    return strung([header_run(event, scribe), body, cut], BREAK)
