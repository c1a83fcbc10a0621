"""Why a turn said what it said: what stood before its model, whose words that was, and how much of it the reply repeats."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from apps.conversations.models import Conversation, InboundEvent, Message
from apps.desk.models import Draft
from apps.governance.actors import Actor, Role
from apps.governance.database.actor_transaction import acting
from apps.governance.errors import NotPermitted
from apps.governance.models import ChangeRecord
from apps.prompt.prompt_input import Slot, Source
from apps.prompt.rendering.segments import NotSegments, Part, Segment, decode_segments
from apps.prompt.text_reuse.source_overlap import NOTHING_SHARED, Overlap, Words, overlap
from apps.runtime.explain.skill_reads import as_said, source_of_skill
from apps.runtime.explain.turn_retrieval import Retrieval, kept_of, owners_of_asked, retrieval_of
from apps.runtime.models import ModelCall, ToolStep, Turn

EARLIER_READ: Final = 60
UNREADABLE: Final = "The owners of slot {slot} cannot be read: it is not what was frozen, so it is left out here."


class Place(StrEnum):
    """Where a text stood for the model."""

    PROMPT = "prompt"
    TURN = "turn"
    SKILL = "skill"
    TOOL = "tool"
    EARLIER = "earlier"


@dataclass(frozen=True, slots=True)
class Stood:
    """One text that stood before the model; without a source it is nobody's row, and `name` says what it is.

    An erased one has no text: a person removed these words of this version from the books since.
    """

    place: Place
    text: str
    size_bytes: int
    slot: int | None = None
    source: Source | None = None
    name: str = ""
    is_erased: bool = False
    overlap: Overlap = NOTHING_SHARED


@dataclass(frozen=True, slots=True)
class Why:
    """One turn with all that led to its reply, what the reply repeats most first."""

    turn: Turn
    reply: str
    draft: Draft | None
    send_mode: str
    events: tuple[InboundEvent, ...]
    calls: tuple[ModelCall, ...]
    tool_steps: tuple[ToolStep, ...]
    retrieval: Retrieval
    sources: tuple[Stood, ...]
    flaws: tuple[str, ...]

    @property
    def repeated(self) -> tuple[Stood, ...]:
        """What the reply shares words with."""
        return tuple(stood for stood in self.sources if stood.overlap.share)


def why(turn_id: int, *, actor: Actor) -> Why | None:
    """None where there is no such turn for whoever asks; of members' talks and off the record nothing is told to anybody."""
    if actor.role is Role.AGENT:
        raise NotPermitted("Only people may read why an agent said something; an agent's token does not reach it.")
    with acting(actor):
        threads = Conversation.objects.visible_to(actor).of_customers().filter(off_the_record=False)
        found = Turn.objects.filter(pk=turn_id, tenant_id=actor.tenant_id, conversation__in=threads)
        turn = found.select_related("conversation__agent", "session__tools", "reply").prefetch_related("calls").first()
        return _why(turn, actor) if turn else None


def _why(turn: Turn, actor: Actor) -> Why:
    draft = Draft.objects.visible_to(actor).filter(turn_id=turn.pk).first()
    events = tuple(InboundEvent.objects.filter(turn_id=turn.pk))
    steps = tuple(turn.tool_steps.filter(round=turn.round))
    before = _before(turn)
    flaws: list[str] = []
    frozen = list(_frozen(turn, flaws))
    asked = _asked(turn, before)
    known = [*_of_parts(frozen, Place.PROMPT), *_of_parts([asked] if asked else [], Place.TURN)]
    stood = [*known, *_of_steps(steps, known), *_earlier(before, {event.text for event in events})]
    reply = _reply(turn, draft)
    return Why(
        turn,
        reply,
        draft,
        _send_mode(turn, draft, asked),
        events,
        tuple(turn.calls.all()),
        steps,
        retrieval_of(turn),
        tuple(_compared(reply, _without_erased(stood, actor.tenant_id))),
        tuple(flaws),
    )


def _reply(turn: Turn, draft: Draft | None) -> str:
    """What the customer read, else what would have been sent: a draft, or the last words of the model."""
    if turn.reply is not None:
        return turn.reply.text
    if draft is not None:
        return draft.sent_text or draft.text
    return next((call.text for call in reversed(turn.calls.all()) if call.text), "")


def _send_mode(turn: Turn, draft: Draft | None, asked: Part | None) -> str:
    """As the agent was told it; where nothing was told, as it turned out."""
    told = (segment.template for segment in asked.segments) if asked else ()
    directive = next((template for template in told if template.startswith("delivery.")), "")
    if directive:
        return directive.removeprefix("delivery.")
    if turn.outcome == Turn.Outcome.OBSERVED:
        return "observe"
    return "suggest" if draft else "autonomous"


def _before(turn: Turn) -> list[Message]:
    """What was said when the turn ended, the latest first, without what it said itself."""
    messages = Message.objects.filter(conversation=turn.conversation).exclude(turn_id=turn.pk)
    if turn.finished_at is not None:
        messages = messages.filter(created_at__lte=turn.finished_at)
    return list(messages.order_by("-position")[:EARLIER_READ])


def _frozen(turn: Turn, flaws: list[str]) -> Iterator[Part]:
    session = turn.session
    if session is None:
        return
    stored = [place.part for place in session.parts.select_related("part")]
    for each in [*([session.tools] if session.tools else []), *stored]:
        part = _part(Slot(each.slot), each.text, each.segments)
        if part is None or part.sha256 != each.sha256:
            flaws.append(UNREADABLE.format(slot=each.slot))
        else:
            yield part


def _asked(turn: Turn, before: Iterable[Message]) -> Part | None:
    """The user turn. Where no step kept it, it is the message of which the owners are."""
    table = owners_of_asked(turn)
    wires = (kept_of(turn).get("api_message"), *(message.api_message for message in before if message.sender != "tool"))
    found = (_part(Slot.TURN, text, table) for wire in wires if (text := _words(wire)))
    return next((part for part in found if part), None) if table else None


def _part(slot: Slot, text: str, table: Any) -> Part | None:  # Any: as it was stored
    try:
        return decode_segments(slot, text, table)
    except NotSegments:
        return None


def _words(wire: Any) -> str:  # Any: an API message as it was stored
    content = wire.get("content") if isinstance(wire, Mapping) else None
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "".join(block.get("text", "") for block in blocks)


def _of_parts(parts: Iterable[Part], place: Place) -> Iterator[Stood]:
    """One for each record and field of a slot, and one for the product's own words."""
    for part in parts:
        together: dict[Source | None, list[list[Segment]]] = {}
        # Segments beside each other are one stretch; those apart are lines of their own, as nobody wrote them in one word.
        for source, run in groupby(part.segments, attrgetter("source")):
            together.setdefault(source, []).append(list(run))
        for source, runs in together.items():
            texts = ("".join(_said(segment) for segment in run) for run in runs)
            size = sum(len(segment.text.encode()) for run in runs for segment in run)
            name = "" if source else "Preceptor's own words"
            yield Stood(place, _lines(texts), size, part.slot.value, source, name)


def _said(segment: Segment) -> str:
    return as_said(segment.text) if segment.source else segment.text


def _lines(texts: Iterable[str]) -> str:
    """One text after the other, each on a line of its own."""
    joined = ""
    for text in texts:
        joined += text if not joined or joined.endswith("\n") or text.startswith("\n") else f"\n{text}"
    return joined


def _of_steps(steps: Iterable[ToolStep], known: Sequence[Stood]) -> Iterator[Stood]:
    """What tools gave back. A skill that was read has the author and the approver of its line in the index."""
    signed = {(each.source.record_type, each.source.record_id): each.source for each in known if each.source}
    for step in steps:
        size = len(step.result.encode())
        read = source_of_skill(step, signed)
        if read:
            yield Stood(Place.SKILL, read.text, size, source=read.source, name=step.name)
        elif step.result:
            yield Stood(Place.TOOL, step.result, size, name=step.name)


def _earlier(before: Iterable[Message], asked: set[str]) -> Iterator[Stood]:
    """What the conversation had before the turn: everybody's words, and what tools gave back then."""
    for message in before:
        if message.text and message.text not in asked:
            yield Stood(Place.EARLIER, message.text, len(message.text.encode()), name=message.sender)
        for call in message.tool_calls:
            result = str(call["result"])
            yield Stood(Place.EARLIER, result, len(result.encode()), name=str(call["name"]))


def _without_erased(stood: Sequence[Stood], tenant_id: int) -> Iterator[Stood]:
    """What was erased from the books is not shown from the prompt either."""
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


def _compared(reply: str, stood: Iterable[Stood]) -> list[Stood]:
    """What the reply shares most with first; of what was said earlier only what it shares anything with."""
    words = Words.of(reply)
    read = [replace(each, overlap=overlap(words, Words.of(each.text))) for each in stood]
    told = [each for each in read if each.overlap.share or each.place is not Place.EARLIER]
    return sorted(told, key=lambda each: -each.overlap.share)
