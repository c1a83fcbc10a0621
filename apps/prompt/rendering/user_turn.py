"""The user turn: everything that differs between turns, in a fixed order (R127, R139, R142)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from apps.prompt.instruction_texts import (
    CUT_EVENT_NOTICE,
    DELEGATED_LEAD,
    DELEGATED_RELAY,
    DELIVERY_TEXTS,
    EXAMPLES_LEAD,
    LAST_STEP,
    LEARNING_LEAD,
    LINE_CARD,
    OFF_THE_RECORD,
    ONE_OPEN_ESCALATION,
    OPEN_ESCALATIONS,
    SAVE_REMINDER,
    SYSTEM_LINE,
    UNAPPROVED_LEARNING_LEAD,
)
from apps.prompt.prompt_input import (
    CorrectionExample,
    Delegation,
    LineCard,
    Passage,
    SanitizerRule,
    Slot,
    TurnEvent,
    TurnInput,
)
from apps.prompt.rendering.data_fences import (
    OWNER_KINDS,
    UNSTORED_EVENT,
    fence_segments,
    header_segments,
    object_payload,
    scrub,
    text_payload,
)
from apps.prompt.rendering.passages import (
    LINE_BREAK,
    PARAGRAPH_BREAK,
    PassageRenderer,
    SegmentList,
    join_segments,
    line_segments,
    sort_passages,
    source_key,
    template_segment,
)
from apps.prompt.rendering.segments import SanitizerNote, Segment, SlotText
from apps.prompt.text_limits import (
    EVENT_CHARACTERS,
    IDENTITY_CHARACTERS,
    LEARNING_BULLET_CHARACTERS,
    LEARNING_BULLETS,
)

_SYSTEM: Final = template_segment("title.system", SYSTEM_LINE)
_OFF_THE_RECORD: Final = template_segment("off_the_record", OFF_THE_RECORD)
_LINE, _CONTACT, _TITLED, _STOP = (template_segment("line_card", text) for text in LINE_CARD)
_DELEGATED_LEAD: Final = template_segment("delegation", DELEGATED_LEAD)
_UNKNOWN_AGENT: Final = template_segment("delegation", "unknown")
_RELAY_NOTICE: Final = template_segment("delegation", DELEGATED_RELAY)
_DELIVERIES: Final = {mode: template_segment(f"delivery.{mode}", text) for mode, text in DELIVERY_TEXTS.items()}
_LEARNING_LEAD: Final = template_segment("lead.learning", LEARNING_LEAD)
_UNAPPROVED_LEAD: Final = template_segment("lead.unapproved_learning", UNAPPROVED_LEARNING_LEAD)
_EXAMPLES_LEAD: Final = template_segment("lead.examples", EXAMPLES_LEAD)
_BULLET: Final = template_segment("bullet", "- ")
_BULLET_MARKERS: Final = " \t-*\u2022"
_CUT_NOTICE: Final = template_segment("cut_event", CUT_EVENT_NOTICE.format(characters=EVENT_CHARACTERS))


@dataclass(frozen=True, slots=True)
class UserTurn:
    """A user turn as sent, and the changes made by the sanitizer."""

    part: SlotText
    notes: tuple[SanitizerNote, ...] = ()

    @property
    def text(self) -> str:
        return self.part.text


def last_step_notice() -> str:
    """Return the last line of a prompt in whose step no tool can be called (R125)."""
    return f"{SYSTEM_LINE}\n{LAST_STEP}"


def render_user_turn(given: TurnInput) -> UserTurn:
    """Return the turn, from general context to the latest events; empty parts are left out."""
    scribe = PassageRenderer(Slot.TURN)
    sections = [
        _system_block(given),
        join_segments((_line_card(card, scribe) for card in _sort_line_cards(given.line_cards)), LINE_BREAK),
        _delegation_section(given.delegation, scribe),
        _delivery(given),
        [template_segment("save_reminder", SAVE_REMINDER.format(tool=given.save_with))] if given.save_with else [],
        *_learning_sections(given.learning, scribe),
        _examples(given.examples, scribe),
        *(_event_section(event, scribe) for event in sorted(given.events, key=_event_key)),
    ]
    return UserTurn(SlotText(Slot.TURN, tuple(join_segments(sections, PARAGRAPH_BREAK))), scribe.notes)


def remove_learning(text: str, bullets: str) -> str:
    """Return a user turn without these bullets, which may follow either lead, as prose or as data (R146)."""
    shown = list(_bullets(Passage(bullets, UNSTORED_EVENT), PassageRenderer(Slot.TURN)))[:LEARNING_BULLETS]
    if not shown:
        return text
    prose = join_segments(([_BULLET, bullet] for bullet in shown), LINE_BREAK)
    for block in (prose, fence_segments([text_payload([bullet]) for bullet in shown])):
        text = _remove_section(text, "".join(segment.text for segment in block))
    return text


def _remove_section(text: str, block: str) -> str:
    """Remove one section: a lead and the block below it. Sections are separated by a blank line."""
    led = f"{LINE_BREAK.text}{block}"
    at = f"{text}{PARAGRAPH_BREAK.text}".find(f"{led}{PARAGRAPH_BREAK.text}")
    if at < 0:
        return text
    before, after = (
        text[:at].rpartition(PARAGRAPH_BREAK.text)[0],
        text[at + len(led) :].removeprefix(PARAGRAPH_BREAK.text),
    )
    return PARAGRAPH_BREAK.text.join(part for part in (before, after) if part)


def _system_block(given: TurnInput) -> SegmentList:
    """Return the date, and the mode unless it is the default (R060, R061)."""
    date = [template_segment("date", given.now_line)] if given.now_line else []
    mode = [_OFF_THE_RECORD] if given.off_the_record else []
    segments = join_segments([date, mode], LINE_BREAK)
    return [_SYSTEM, LINE_BREAK, *segments] if segments else []


def _sort_line_cards(cards: Iterable[LineCard]) -> list[LineCard]:
    return sorted(cards, key=lambda card: (card.line, *source_key(card.assigned_name.source)))


def _line_card(card: LineCard, scribe: PassageRenderer) -> SegmentList:
    """Return an operator's text on one line, with the name of the line as in an event's header (R187)."""
    line = line_segments(scrub(card.line, IDENTITY_CHARACTERS, scribe), card.assigned_name.source)
    name = _scrub_passage(card.assigned_name, scribe)
    title = _scrub_passage(card.assigned_title, scribe) if card.assigned_title else []
    return [_LINE, *line, _CONTACT, *join_segments([name, title], _TITLED), _STOP] if line and name else []


def _scrub_passage(passage: Passage, scribe: PassageRenderer) -> SegmentList:
    return line_segments(scrub(passage.text, IDENTITY_CHARACTERS, scribe), passage.source)


def _delegation_section(delegation: Delegation | None, scribe: PassageRenderer) -> SegmentList:
    """Return which agent asked, and where the answer goes (R054)."""
    if delegation is None:
        return []
    title = line_segments(scrub(delegation.parent_title, IDENTITY_CHARACTERS, scribe), delegation.source)
    return [_DELEGATED_LEAD, *(title or [_UNKNOWN_AGENT]), LINE_BREAK, _RELAY_NOTICE]


def _delivery(given: TurnInput) -> SegmentList:
    """Return what happens to the reply, and which questions to colleagues are open (R134, R135)."""
    directive = [_DELIVERIES[given.send_mode]] if given.send_mode else []
    return join_segments([directive, _open_escalations(given.open_escalations)], LINE_BREAK)


def _open_escalations(count: int) -> SegmentList:
    if count <= 0:
        return []
    notice = ONE_OPEN_ESCALATION if count == 1 else OPEN_ESCALATIONS.format(count=count)
    return [template_segment("open_escalations", notice)]


def _learning_sections(learning: Iterable[Passage], scribe: PassageRenderer) -> list[SegmentList]:
    """Return at most ten bullets, one line each (R145), with unapproved ones fenced as data."""
    bullets = [bullet for passage in sort_passages(learning) for bullet in _bullets(passage, scribe)]
    if len(bullets) > LEARNING_BULLETS:
        scribe.note(SanitizerRule.TRUNCATED)
    shown = bullets[:LEARNING_BULLETS]
    prose = [[_BULLET, bullet] for bullet in shown if _is_approved(bullet)]
    payloads = [text_payload([bullet]) for bullet in shown if not _is_approved(bullet)]
    return [
        [_LEARNING_LEAD, LINE_BREAK, *join_segments(prose, LINE_BREAK)] if prose else [],
        [_UNAPPROVED_LEAD, LINE_BREAK, *fence_segments(payloads)] if payloads else [],
    ]


def _bullets(passage: Passage, scribe: PassageRenderer) -> Iterator[Segment]:
    for number, line in enumerate(passage.text.split("\n"), 1):
        if bullet_text := scribe.one_line(line.lstrip(_BULLET_MARKERS), LEARNING_BULLET_CHARACTERS):
            yield Segment(bullet_text, passage.source, "", number)


def _is_approved(bullet: Segment) -> bool:
    return bullet.source is not None and bool(bullet.source.approver)


def _examples(examples: Iterable[CorrectionExample], scribe: PassageRenderer) -> SegmentList:
    """Return the examples as data, since a draft may repeat what a customer wrote (R164)."""
    ordered = sorted(examples, key=lambda example: (example.draft.position, *source_key(example.draft.source)))
    payloads = [payload for example in ordered if (payload := _example(example, scribe))]
    return [_EXAMPLES_LEAD, LINE_BREAK, *fence_segments(payloads)] if payloads else []


def _example(example: CorrectionExample, scribe: PassageRenderer) -> SegmentList:
    texts = {"situation": example.situation, "draft": example.draft, "correction": example.correction}
    runs = {name: scribe.passage(passage) for name, passage in texts.items()}
    return object_payload({name: run for name, run in runs.items() if run}) if runs["correction"] else []


def _event_key(event: TurnEvent) -> tuple[datetime, tuple[str, int, str], tuple[str, ...]]:
    content = (event.kind.value, event.key, event.name, event.line, event.text)
    return event.at, source_key(event.source or UNSTORED_EVENT), content


def _event_section(event: TurnEvent, scribe: PassageRenderer) -> SegmentList:
    """Return the event under its header: an owner's text as prose, any other text fenced (R140, R141, Z-22)."""
    clean = scribe.clean(event.text, EVENT_CHARACTERS)
    source = event.source or UNSTORED_EVENT
    is_prose = event.kind in OWNER_KINDS
    body = (
        line_segments(clean.text.strip(), source)
        if is_prose
        else fence_segments([text_payload(line_segments(clean.text, source))])
    )
    cut = [_CUT_NOTICE] if SanitizerRule.TRUNCATED in clean.notes else []
    return join_segments([header_segments(event, scribe), body, cut], LINE_BREAK)
