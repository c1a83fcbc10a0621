"""The turn's rows: claimed under a lease on the database's clock, closed only by whoever still holds the fence."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Max, QuerySet
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now
from django.utils import timezone

from apps.conversations.models import Conversation, InboundEvent, Message
from apps.governance.acting import acting
from apps.governance.actors import Actor
from apps.llm.backend import JsonObject, Reply
from apps.llm.prices import cost_micro_usd
from apps.prompt.segments import Assembled, Part, encode_segments
from apps.runtime.models import ModelCall, Session, SessionPart, SnapshotPart, Turn
from apps.runtime.rules import CRASHES_PER_TURN, PATIENCE
from apps.runtime.steps import Step, canonical_object
from apps.runtime.stops import Stopped


class FenceLost(Exception):
    """Another worker took the turn over; whatever this one still wants to write is void."""

    code = "fence_lost"


@dataclass(frozen=True, slots=True)
class Claim:
    """A turn this worker holds, with the events it answers."""

    turn: Turn
    conversation: Conversation
    events: tuple[InboundEvent, ...]

    @property
    def is_spent(self) -> bool:
        """Its workers died too often, so the turn itself kills them; waiting for the model is no death. Or it is too old.

        A turn that an operator held has not grown old by itself.
        """
        dies = self.turn.attempts > CRASHES_PER_TURN and not self.turn.failure_code
        is_old = timezone.now() - self.turn.started_at > PATIENCE and self.turn.failure_code != Stopped.code
        return dies or is_old


@dataclass(frozen=True, slots=True)
class Asked:
    """The user turn as it is sent, and whose words each of its bytes is."""

    wire: JsonObject
    part: Part


def claim(conversation_id: int, *, actor: Actor) -> Claim | None:
    """Take the waiting events of a conversation, or a turn whose lease ran out; None if there is nothing to take."""
    with acting(actor):
        conversation = Conversation.objects.visible_to(actor).filter(pk=conversation_id).first()
        if conversation is None:
            return None
        turn = _take_over(conversation) or _begin(conversation)
        if turn is None:
            return None
        events = InboundEvent.objects.filter(conversation=conversation)
        if turn.session_id is None:
            events.filter(turn_id=None).update(turn_id=turn.pk)
        taken = tuple(events.filter(turn_id=turn.pk))
        if not taken:
            # Another worker answered them between our look and our claim; there is no turn to take.
            transaction.set_rollback(True)
            return None
        return Claim(turn, conversation, taken)


def _take_over(conversation: Conversation) -> Turn | None:
    expired = Turn.objects.select_for_update(no_key=True, skip_locked=True).filter(
        conversation=conversation, status=Turn.Status.RUNNING, lease_until__lte=Now()
    )
    turn = expired.first()
    if turn is None:
        return None
    Turn.objects.filter(pk=turn.pk).update(fence=turn.fence + 1, attempts=turn.attempts + 1, lease_until=_lease())
    turn.refresh_from_db()
    return turn


def _begin(conversation: Conversation) -> Turn | None:
    waiting = InboundEvent.objects.filter(conversation=conversation, turn_id=None)
    if not waiting.exists():
        return None
    try:
        with transaction.atomic():
            return Turn.objects.create(
                tenant_id=conversation.tenant_id, conversation=conversation, lease_until=_lease()
            )
    except IntegrityError:
        # Another worker runs a turn of this conversation; the events join the next one.
        return None


def _lease() -> CombinedExpression:
    return Now() + timedelta(seconds=settings.TURN_LEASE_SECONDS)


def freeze(conversation: Conversation, assembled: Assembled, tools: Part, *, actor: Actor) -> Session:
    """Store a prefix: its parts once per content, its session as the list of them (R062)."""
    with acting(actor):
        session = Session.objects.create(
            tenant_id=conversation.tenant_id,
            conversation=conversation,
            agent_id=conversation.agent_id,
            prefix_sha256=assembled.sha256,
            tool_names=[definition["name"] for definition in json.loads(tools.text)],
            tools=_stored(tools, conversation.tenant_id),
            tools_sha256=tools.text_sha256,
        )
        for position, part in enumerate(assembled.parts):
            stored = _stored(part, session.tenant_id)
            SessionPart.objects.create(tenant_id=session.tenant_id, session=session, position=position, part=stored)
    return session


def _stored(part: Part, tenant_id: int) -> SnapshotPart:
    stored, _ = SnapshotPart.objects.get_or_create(
        tenant_id=tenant_id,
        slot=part.slot,
        sha256=part.sha256,
        defaults={"text": part.text, "segments": encode_segments(part)},
    )
    return stored


def enter_session(turn: Turn, session: Session, *, actor: Actor) -> None:
    """Note which session the turn runs in; a resumed turn keeps it."""
    with acting(actor):
        if not _held(turn).update(session=session):
            raise FenceLost(f"Turn {turn.pk} was taken over.")
    turn.session = session


@dataclass(frozen=True, slots=True)
class CallNotes:
    """What is known of a model call beside its usage: when it began, what it should have read, what it left cached."""

    requested_at: datetime
    prefix_sha256: str
    shared_sha256: str
    workspace_sha256: str
    expected_read_tokens: int
    has_unexpected_miss: bool
    entries: JsonObject
    ledger: JsonObject


def note_call(turn: Turn, step: int, reply: Reply, notes: CallNotes, *, actor: Actor) -> None:
    """Keep what one model call used, as it happened, whatever becomes of the turn; who lost the fence goes no further."""
    with acting(actor):
        ModelCall.objects.create(
            tenant_id=turn.tenant_id,
            turn=turn,
            fence=turn.fence,
            step=step,
            model=reply.model,
            stand_in=reply.stand_in,
            stop_reason=reply.stop_reason.value,
            cost_micro_usd=None if reply.stand_in else cost_micro_usd(reply.model, reply.usage),
            **asdict(reply.usage),
            **asdict(notes),
        )
        is_held = _held(turn).exists()
    if not is_held:
        raise FenceLost(f"Turn {turn.pk} was taken over.")


def history_of(conversation: Conversation, *, actor: Actor) -> list[JsonObject]:
    """The API messages of earlier turns, as they were sent."""
    with acting(actor):
        rows = Message.objects.filter(conversation=conversation).exclude(wire=None).order_by("position")
        return [canonical_object(wire) for wire in rows.values_list("wire", flat=True) if wire is not None]


def close(claimed: Claim, asked: Asked, steps: Sequence[Step], *, actor: Actor) -> Message:
    """Let the reply leave the house: transcript, reply and end of the turn in one commit, or nothing of it."""
    turn, conversation = claimed.turn, claimed.conversation
    with acting(actor):
        if not _held(turn).select_for_update(no_key=True).exists():
            raise FenceLost(f"Turn {turn.pk} was taken over.")
        messages = _numbered(conversation, [*_asked(claimed, asked), *_answered(claimed, steps)])
        Message.objects.bulk_create(messages)
        reply = messages[-1]
        _held(turn).update(
            status=Turn.Status.DONE,
            reply=reply,
            finished_at=Now(),
            failure="",
            failure_code="",
            asked_segments=encode_segments(asked.part),
        )
    return reply


def give_up(claimed: Claim, asked: Asked, code: str, sentence: str, *, actor: Actor) -> None:
    """End a turn without a reply. People see it with its reason; what the customer wrote stays in the conversation."""
    with acting(actor):
        held = _held(claimed.turn)
        if held.select_for_update(no_key=True).exists():
            Message.objects.bulk_create(_numbered(claimed.conversation, _asked(claimed, asked)))
            held.update(
                status=Turn.Status.FAILED,
                finished_at=Now(),
                failure=sentence,
                failure_code=code,
                asked_segments=encode_segments(asked.part),
            )


def postpone(turn: Turn, code: str, sentence: str, seconds: float, *, actor: Actor) -> None:
    """Let the lease run out when the next attempt is due; the sweep finds it then."""
    with acting(actor):
        _held(turn).update(lease_until=Now() + timedelta(seconds=seconds), failure=sentence, failure_code=code)


def _held(turn: Turn) -> QuerySet[Turn]:
    return Turn.objects.filter(pk=turn.pk, fence=turn.fence, status=Turn.Status.RUNNING)


def _asked(claimed: Claim, asked: Asked) -> list[Message]:
    senders = {InboundEvent.Kind.MESSAGE: Message.Sender.CUSTOMER, InboundEvent.Kind.OPERATOR: Message.Sender.OPERATOR}
    messages = [Message(sender=senders[InboundEvent.Kind(event.kind)], text=event.text) for event in claimed.events]
    # Several events are one user turn for the model; the last of them carries it.
    messages[-1].wire = asked.wire
    return messages


def _answered(claimed: Claim, steps: Sequence[Step]) -> list[Message]:
    messages: list[Message] = []
    for step in steps:
        calls = [asdict(call) for call in step.calls]
        messages.append(Message(sender=Message.Sender.AGENT, text=step.text, tool_calls=calls, wire=step.said))
        if step.results is not None:
            messages.append(Message(sender=Message.Sender.TOOL, wire=step.results))
    for message in messages:
        message.turn_id = claimed.turn.pk
    return messages


def _numbered(conversation: Conversation, messages: list[Message]) -> list[Message]:
    last = Message.objects.filter(conversation=conversation).aggregate(last=Max("position"))["last"]
    start = 0 if last is None else last + 1
    for offset, message in enumerate(messages):
        message.tenant_id = conversation.tenant_id
        message.conversation = conversation
        message.position = start + offset
    return messages
