"""Acts on conversations. Receiving a message is a journal write: authorised here, recorded by the event itself."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TypedDict

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.conversations.models import Conversation, InboundEvent, Message
from apps.conversations.rules import KEY_CHARACTERS, LINE_CHARACTERS, Line, message_flaws
from apps.governance.acting import acting
from apps.governance.actors import Actor
from apps.governance.door import authorize, governed
from apps.governance.errors import Conflicting, Invalid
from apps.governance.models import Taint
from apps.governance.policy import Act
from apps.governance.text import content_sha256, plain_text


class Thread(TypedDict):
    """What tells one thread of an agent from another."""

    agent_id: int
    channel: str
    conversation_key: str


class Sent(TypedDict):
    """What arrived, as it was sent."""

    text: str
    idempotency_key: str
    sender_name: str
    line_key: str


def open_conversation(
    agent_id: int,
    *,
    actor: Actor,
    channel: str,
    conversation_key: str,
    end_user_key: str = "",
    off_the_record: bool | None = None,
) -> Conversation:
    """Begin a thread; if an earlier one of the same customer's thread has ended, this follows it (Z-15).

    Off the record is settled here for good: nothing is learned from such a conversation (R178). Where nobody says, it is
    what the thread was before: who spoke off the record does not find the sequel on it.
    """
    thread: Thread = {"agent_id": agent_id, "channel": channel, "conversation_key": conversation_key}
    if off_the_record is None:
        before = _ended_before(thread, actor)
        off_the_record = before is not None and before.off_the_record
    conversation = Conversation(
        tenant_id=actor.tenant_id,
        **thread,
        end_user_key=end_user_key,
        off_the_record=off_the_record,
        follows=_ended_before(thread, actor, end_user_key=end_user_key),
        taint=Taint.CUSTOMER_DERIVED,
    )
    with governed(Act.CONVERSATION_OPEN, conversation, actor=actor):
        pass
    return conversation


def receive_message(
    agent_id: int,
    *,
    actor: Actor,
    channel: str,
    conversation_key: str,
    text: str,
    idempotency_key: str,
    end_user_key: str = "",
    sender_name: str = "",
    line_key: str = "",
    off_the_record: bool | None = None,
) -> InboundEvent:
    """Take what a customer wrote. The same key again is the same event; other words under it are refused (R126).

    Only the message that opens a conversation says whether it is off the record; a later one may leave it out or agree.
    What a person sends is stored with who sent it.
    """
    authorize(actor, Act.MESSAGE_RECEIVE, actor.tenant_id, agent_id=agent_id)
    thread: Thread = {"agent_id": agent_id, "channel": channel, "conversation_key": conversation_key}
    sent: Sent = {"text": text, "idempotency_key": idempotency_key, "sender_name": sender_name, "line_key": line_key}
    _refuse_flaws(text, end_user_key, channel)
    _refuse_unstorable(sent, thread, end_user_key)
    with acting(actor):
        return _known_or_new(_event_of(sent, actor), thread, actor, end_user_key, off_the_record)


def resolve_conversation(
    conversation: Conversation,
    *,
    actor: Actor,
    outcome: Conversation.Outcome = Conversation.Outcome.UNKNOWN,
    read_at: int | None = None,
) -> Conversation:
    """Settle the matter. Nothing is learned here: the sweep finds it afterwards (R109)."""
    with governed(Act.CONVERSATION_RESOLVE, conversation, actor=actor, read_at=read_at) as row:
        row.resolve()
        row.outcome = outcome
        row.resolved_at = timezone.now()
    return conversation


def abandon_conversation(conversation: Conversation, *, actor: Actor, read_at: int | None = None) -> Conversation:
    """End a conversation nobody came back to; nothing follows (R108)."""
    with governed(Act.CONVERSATION_ABANDON, conversation, actor=actor, read_at=read_at) as row:
        row.abandon()
    return conversation


def import_conversation(
    agent_id: int,
    *,
    actor: Actor,
    transcript_id: str,
    lines: Sequence[Line],
    outcome: Conversation.Outcome,
) -> Conversation | None:
    """Take over a finished transcript as a resolved conversation; None if it is here already."""
    with acting(actor):
        key = {"agent_id": agent_id, "conversation_key": transcript_id, "origin": Conversation.Origin.IMPORTED}
        if Conversation.objects.visible_to(actor).filter(**key).exists():
            return None
    conversation = Conversation(tenant_id=actor.tenant_id, channel="import", taint=Taint.IMPORTED, **key)
    with acting(actor):
        with governed(Act.CONVERSATION_IMPORT, conversation, actor=actor):
            pass
        append_messages(conversation, lines, actor=actor)
        resolve_conversation(conversation, actor=actor, outcome=outcome)
    return conversation


def append_messages(conversation: Conversation, lines: Sequence[Line], *, actor: Actor) -> list[Message]:
    """Write the lines of an imported transcript behind each other."""
    authorize(actor, Act.CONVERSATION_IMPORT, conversation.tenant_id, agent_id=conversation.agent_id)
    with acting(actor):
        return Message.objects.bulk_create(
            Message(
                tenant_id=conversation.tenant_id,
                conversation=conversation,
                position=position,
                sender=line.sender,
                text=line.text,
                tool_calls=[asdict(call) for call in line.tool_calls],
            )
            for position, line in enumerate(lines)
        )


def _refuse_unstorable(sent: Sent, thread: Thread, end_user_key: str) -> None:
    keys = {"end_user_key": end_user_key, "conversation_key": thread["conversation_key"]}
    keys |= {"sender_name": sent["sender_name"], "idempotency_key": sent["idempotency_key"]}
    limited = [(name, value, KEY_CHARACTERS) for name, value in keys.items()]
    for name, value, characters in (*limited, ("line_key", sent["line_key"], LINE_CHARACTERS)):
        try:
            plain_text(value)
        except ValidationError as refusal:
            raise Invalid(
                f"The field {name} cannot be taken. {' '.join(refusal.messages)}", {name: refusal.messages}
            ) from refusal
        if len(value) > characters:
            flaw = f"This has {len(value)} characters; at most {characters} are taken."
            raise Invalid(f"The field {name} cannot be taken. {flaw}", {name: [flaw]})


def _refuse_flaws(text: str, end_user_key: str, channel: str) -> None:
    flaws = message_flaws(text, end_user_key, channel)
    try:
        plain_text(text)
    except ValidationError as refusal:
        flaws["text"] = refusal.messages
    if flaws:
        raise Invalid(
            "The message cannot be taken. " + " ".join(reason for reasons in flaws.values() for reason in reasons),
            flaws,
        )


def _ended_before(thread: Thread, actor: Actor, **of_customer: str) -> Conversation | None:
    with acting(actor):
        threads = Conversation.objects.visible_to(actor).filter(**thread, **of_customer)
        return threads.exclude(status=Conversation.Status.OPEN).first()


def _event_of(sent: Sent, actor: Actor) -> InboundEvent:
    return InboundEvent(
        tenant_id=actor.tenant_id,
        kind=InboundEvent.Kind.OPERATOR if actor.is_person else InboundEvent.Kind.MESSAGE,
        sent_by=actor.label if actor.is_person else "",
        idempotency_key=sent["idempotency_key"],
        sender_name=sent["sender_name"][:120],
        line_key=sent["line_key"],
        text=sent["text"],
        text_sha256=content_sha256(sent["text"]),
    )


def _known_or_new(
    event: InboundEvent, thread: Thread, actor: Actor, end_user_key: str, off_the_record: bool | None
) -> InboundEvent:
    known = _known_event(event, thread, actor)
    if known:
        _refuse_other_terms(known.conversation, end_user_key, off_the_record)
        return known
    # Locked, so that it is not resolved between this look and the write.
    rows = Conversation.objects.visible_to(actor).select_for_update(no_key=True, of=("self",))
    conversation = rows.open().filter(**thread).first()
    if conversation is None:
        conversation = _open_or_join(thread, actor, end_user_key, off_the_record)
    _refuse_other_terms(conversation, end_user_key, off_the_record)
    event.conversation = conversation
    return _append_event(event, thread, actor)


def _known_event(event: InboundEvent, thread: Thread, actor: Actor) -> InboundEvent | None:
    threads = Conversation.objects.visible_to(actor).filter(**thread)
    known = (
        InboundEvent.objects.filter(conversation__in=threads, idempotency_key=event.idempotency_key)
        .select_related("conversation")
        .first()
    )
    if known and known.text_sha256 != event.text_sha256:
        raise Conflicting(
            "This idempotency key was used for another message of the thread. Use a fresh key per message."
        )
    return known


def _open_or_join(thread: Thread, actor: Actor, end_user_key: str, off_the_record: bool | None) -> Conversation:
    try:
        return open_conversation(**thread, actor=actor, end_user_key=end_user_key, off_the_record=off_the_record)
    except Conflicting:
        # Another message of the thread opened it between our look and our write.
        return Conversation.objects.visible_to(actor).open().get(**thread)


def _refuse_other_terms(conversation: Conversation, end_user_key: str, off_the_record: bool | None) -> None:
    if end_user_key and conversation.end_user_key != end_user_key:
        flaw = f"This thread belongs to {conversation.end_user_key or 'nobody named'}. Use another conversation key."
        raise Invalid(flaw, {"end_user_key": [flaw]})
    if off_the_record not in {None, conversation.off_the_record}:
        stands = "off" if conversation.off_the_record else "on"
        flaw = (
            f"This conversation opened {stands} the record and stays so. Leave the field out, or open another thread."
        )
        raise Invalid(flaw, {"off_the_record": [flaw]})


def _append_event(event: InboundEvent, thread: Thread, actor: Actor) -> InboundEvent:
    try:
        with transaction.atomic():
            event.save(force_insert=True)
    except IntegrityError:
        known = _known_event(event, thread, actor)
        if known is None:
            raise
        return known
    return event
