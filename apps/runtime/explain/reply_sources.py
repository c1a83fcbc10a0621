"""Finds the sources of a reply: the texts that the model was given, their authors, and how much of each the reply repeats."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from apps.conversations.models import Conversation, InboundEvent, Message
from apps.desk.models import Draft
from apps.governance.actors import Actor, Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import NotPermitted
from apps.governance.models import ChangeRecord
from apps.prompt.prompt_input import Slot, TextProvenance
from apps.prompt.rendering.segments import Segment, SegmentMismatch, SlotText, decode_segments
from apps.prompt.text_reuse.source_overlap import NO_OVERLAP, Overlap, WordIndex, find_overlap
from apps.runtime.explain.skill_reads import find_skill_read, unescape_segment
from apps.runtime.explain.turn_retrieval import Retrieval, retrieval_of, stored_user_turn, user_turn_owners
from apps.runtime.models import ModelCall, ToolStep, Turn

MAX_EARLIER_MESSAGES: Final = 60
UNREADABLE_SLOT: Final = "Slot {slot} is left out here: its stored text or owners cannot be verified."


class SourcePlace(StrEnum):
    """The part of the model's input that a text was in."""

    PROMPT = "prompt"
    TURN = "turn"
    SKILL = "skill"
    TOOL = "tool"
    EARLIER = "earlier"


@dataclass(frozen=True, slots=True)
class ReplySource:
    """A text that the model was given. If it comes from no row, `source` is None and `name` says what it is.

    The text is empty if `is_erased`: a person has since erased the text of this version from the records.
    """

    place: SourcePlace
    text: str
    size_bytes: int
    slot: int | None = None
    source: TextProvenance | None = None
    name: str = ""
    is_erased: bool = False
    overlap: Overlap = NO_OVERLAP


@dataclass(frozen=True, slots=True)
class TurnExplanation:
    """A turn with all sources of its reply, sorted by how much of each the reply repeats, most first."""

    turn: Turn
    reply: str
    draft: Draft | None
    send_mode: str
    events: tuple[InboundEvent, ...]
    calls: tuple[ModelCall, ...]
    tool_steps: tuple[ToolStep, ...]
    retrieval: Retrieval
    sources: tuple[ReplySource, ...]
    flaws: tuple[str, ...]

    @property
    def repeated(self) -> tuple[ReplySource, ...]:
        """The sources that share words with the reply."""
        return tuple(stood for stood in self.sources if stood.overlap.share)


def explain_turn(turn_id: int, *, actor: Actor) -> TurnExplanation | None:
    """Explain a turn. None if the turn is not visible to the actor. Members' talks and off-the-record turns are not explained."""
    if actor.role is Role.AGENT:
        raise NotPermitted("Only people may read the sources of a reply. An agent's token gives no access.")
    with acting_as(actor):
        threads = Conversation.objects.visible_to(actor).of_customers().filter(off_the_record=False)
        found = Turn.objects.filter(pk=turn_id, tenant_id=actor.tenant_id, conversation__in=threads)
        turn = found.select_related("conversation__agent", "session__tools", "reply").prefetch_related("calls").first()
        return _build_explanation(turn, actor) if turn else None


def _build_explanation(turn: Turn, actor: Actor) -> TurnExplanation:
    draft = Draft.objects.visible_to(actor).filter(turn_id=turn.pk).first()
    events = tuple(InboundEvent.objects.filter(turn_id=turn.pk))
    steps = tuple(turn.tool_steps.filter(round=turn.round))
    before = _earlier_messages(turn)
    flaws: list[str] = []
    frozen = list(_frozen_parts(turn, flaws))
    asked = _user_turn_part(turn, before)
    known = [
        *_sources_of_parts(frozen, SourcePlace.PROMPT),
        *_sources_of_parts([asked] if asked else [], SourcePlace.TURN),
    ]
    stood = [*known, *_sources_of_steps(steps, known), *_earlier_sources(before, {event.text for event in events})]
    reply = _reply(turn, draft)
    return TurnExplanation(
        turn,
        reply,
        draft,
        _send_mode(turn, draft, asked),
        events,
        tuple(turn.calls.all()),
        steps,
        retrieval_of(turn),
        tuple(_rank_by_overlap(reply, _blank_erased(stood, actor.tenant_id))),
        tuple(flaws),
    )


def _reply(turn: Turn, draft: Draft | None) -> str:
    """The text that the customer read, or else the text that would have been sent: the draft, or the model's last answer."""
    if turn.reply is not None:
        return turn.reply.text
    if draft is not None:
        return draft.sent_text or draft.text
    return next((call.text for call in reversed(turn.calls.all()) if call.text), "")


def _send_mode(turn: Turn, draft: Draft | None, asked: SlotText | None) -> str:
    """The send mode that the prompt named, or if it named none, the mode that follows from the outcome."""
    templates = (segment.template for segment in asked.segments) if asked else ()
    directive = next((template for template in templates if template.startswith("delivery.")), "")
    if directive:
        return directive.removeprefix("delivery.")
    if turn.outcome == Turn.Outcome.OBSERVED:
        return "observe"
    return "suggest" if draft else "autonomous"


def _earlier_messages(turn: Turn) -> list[Message]:
    """The messages that the conversation had when the turn ended, the latest first, without the turn's own."""
    messages = Message.objects.filter(conversation=turn.conversation).exclude(turn_id=turn.pk)
    if turn.finished_at is not None:
        messages = messages.filter(created_at__lte=turn.finished_at)
    return list(messages.order_by("-position")[:MAX_EARLIER_MESSAGES])


def _frozen_parts(turn: Turn, flaws: list[str]) -> Iterator[SlotText]:
    session = turn.session
    if session is None:
        return
    stored = [place.part for place in session.parts.select_related("part")]
    for each in [*([session.tools] if session.tools else []), *stored]:
        part = _decode_part(Slot(each.slot), each.text, each.segments)
        if part is None or part.sha256 != each.sha256:
            flaws.append(UNREADABLE_SLOT.format(slot=each.slot))
        else:
            yield part


def _user_turn_part(turn: Turn, before: Iterable[Message]) -> SlotText | None:
    """The user turn stored with the first step, or else the message whose text matches the stored owners."""
    table = user_turn_owners(turn)
    wires = (
        stored_user_turn(turn).get("api_message"),
        *(message.api_message for message in before if message.sender != "tool"),
    )
    found = (_decode_part(Slot.TURN, text, table) for wire in wires if (text := _text_of_message(wire)))
    return next((part for part in found if part), None) if table else None


def _decode_part(slot: Slot, text: str, table: Any) -> SlotText | None:  # Any: as it was stored
    try:
        return decode_segments(slot, text, table)
    except SegmentMismatch:
        return None


def _text_of_message(wire: Any) -> str:  # Any: an API message as it was stored
    content = wire.get("content") if isinstance(wire, Mapping) else None
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "".join(block.get("text", "") for block in blocks)


def _sources_of_parts(parts: Iterable[SlotText], place: SourcePlace) -> Iterator[ReplySource]:
    """One source for each record and field of a slot, and one for the product's own text."""
    for part in parts:
        together: dict[TextProvenance | None, list[list[Segment]]] = {}
        # Adjacent segments of one source form one text. Other segments are separate lines, since no author wrote them together.
        for source, run in groupby(part.segments, attrgetter("source")):
            together.setdefault(source, []).append(list(run))
        for source, runs in together.items():
            texts = ("".join(_unescaped_text(segment) for segment in run) for run in runs)
            size = sum(len(segment.text.encode()) for run in runs for segment in run)
            name = "" if source else "Preceptor's own words"
            yield ReplySource(place, _join_lines(texts), size, part.slot.value, source, name)


def _unescaped_text(segment: Segment) -> str:
    return unescape_segment(segment.text) if segment.source else segment.text


def _join_lines(texts: Iterable[str]) -> str:
    """The texts joined, each beginning on a new line."""
    joined = ""
    for text in texts:
        joined += text if not joined or joined.endswith("\n") or text.startswith("\n") else f"\n{text}"
    return joined


def _sources_of_steps(steps: Iterable[ToolStep], known: Sequence[ReplySource]) -> Iterator[ReplySource]:
    """The tool results as sources. A skill that was read has the author and the approver of its index line."""
    signed = {(each.source.record_type, each.source.record_id): each.source for each in known if each.source}
    for step in steps:
        size = len(step.result.encode())
        read = find_skill_read(step, signed)
        if read:
            yield ReplySource(SourcePlace.SKILL, read.text, size, source=read.source, name=step.name)
        elif step.result:
            yield ReplySource(SourcePlace.TOOL, step.result, size, name=step.name)


def _earlier_sources(before: Iterable[Message], asked: set[str]) -> Iterator[ReplySource]:
    """The conversation before the turn as sources: all messages and tool results."""
    for message in before:
        if message.text and message.text not in asked:
            yield ReplySource(SourcePlace.EARLIER, message.text, len(message.text.encode()), name=message.sender)
        for call in message.tool_calls:
            result = str(call["result"])
            yield ReplySource(SourcePlace.EARLIER, result, len(result.encode()), name=str(call["name"]))


def _blank_erased(stood: Sequence[ReplySource], tenant_id: int) -> Iterator[ReplySource]:
    """Blank the text of sources that were erased from the records."""
    sources = {each.source for each in stood if each.source}
    erased = set(
        ChangeRecord.objects.filter(
            tenant_id=tenant_id,
            subject_type__in={source.record_type for source in sources},
            subject_id__in={source.record_id for source in sources},
            text__isnull=True,
        ).values_list("subject_type", "subject_id", "version_after")
    )
    for each in stood:
        source = each.source
        is_erased = source is not None and (source.record_type, source.record_id, source.version) in erased
        yield replace(each, text="", is_erased=True) if is_erased else each


def _rank_by_overlap(reply: str, stood: Iterable[ReplySource]) -> list[ReplySource]:
    """Sort the sources by the words that they share with the reply. Earlier messages that share none are left out."""
    words = WordIndex.of(reply)
    read = [replace(each, overlap=find_overlap(words, WordIndex.of(each.text))) for each in stood]
    sources = [each for each in read if each.overlap.share or each.place is not SourcePlace.EARLIER]
    return sorted(sources, key=lambda each: -each.overlap.share)
