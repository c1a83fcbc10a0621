"""Acts on conversations. Receiving a message is a journal write: authorised here, recorded by the event itself."""

from collections.abc import Sequence
from dataclasses import asdict

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.conversations.models import Conversation, InboundEvent, Message
from apps.conversations.rules import KEY_CHARACTERS, Line, message_flaws
from apps.governance.acting import acting
from apps.governance.actors import Actor
from apps.governance.door import authorize, governed
from apps.governance.errors import Conflicting, Invalid
from apps.governance.models import Taint
from apps.governance.policy import Act
from apps.governance.text import content_sha256, plain_text


def open_conversation(
    agent_id: int, *, actor: Actor, channel: str, conversation_key: str, end_user_key: str = ""
) -> Conversation:
    """Begin a thread; if an earlier one of the same customer's thread has ended, this follows it (Z-15)."""
    with acting(actor):
        earlier = (
            Conversation.objects.visible_to(actor)
            .filter(agent_id=agent_id, channel=channel, conversation_key=conversation_key, end_user_key=end_user_key)
            .exclude(status=Conversation.Status.OPEN)
            .first()
        )
    conversation = Conversation(
        tenant_id=actor.tenant_id,
        agent_id=agent_id,
        channel=channel,
        conversation_key=conversation_key,
        end_user_key=end_user_key,
        follows=earlier,
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
) -> InboundEvent:
    """Take what a customer wrote. The same key again is the same event; other words under it are refused (R126)."""
    authorize(actor, Act.MESSAGE_RECEIVE, actor.tenant_id)
    _refuse_flaws(text, end_user_key, channel)
    _refuse_unstorable(end_user_key=end_user_key, sender_name=sender_name, conversation_key=conversation_key)
    _refuse_unstorable(idempotency_key=idempotency_key)
    with acting(actor):
        thread = {"agent_id": agent_id, "channel": channel, "conversation_key": conversation_key}
        known = _known_event(actor, thread, idempotency_key, text)
        if known:
            _refuse_other_customer(known.conversation, end_user_key)
            return known
        # Locked, so that it is not resolved between this look and the write.
        rows = Conversation.objects.visible_to(actor).select_for_update(no_key=True, of=("self",))
        conversation = rows.open().filter(**thread).first()
        if conversation is None:
            conversation = _open_or_join(agent_id, actor, channel, conversation_key, end_user_key)
        _refuse_other_customer(conversation, end_user_key)
        return _append_event(conversation, actor, thread, text, idempotency_key, sender_name)


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
    authorize(actor, Act.CONVERSATION_IMPORT, conversation.tenant_id)
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


def _refuse_unstorable(**named: str) -> None:
    for name, value in named.items():
        try:
            plain_text(value)
        except ValidationError as refusal:
            raise Invalid(
                f"The field {name} cannot be taken. {' '.join(refusal.messages)}", {name: refusal.messages}
            ) from refusal
        if len(value) > KEY_CHARACTERS:
            flaw = f"This has {len(value)} characters; at most {KEY_CHARACTERS} are taken."
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


def _known_event(actor: Actor, thread: dict[str, object], idempotency_key: str, text: str) -> InboundEvent | None:
    threads = Conversation.objects.visible_to(actor).filter(**thread)
    known = (
        InboundEvent.objects.filter(conversation__in=threads, idempotency_key=idempotency_key)
        .select_related("conversation")
        .first()
    )
    if known and known.text_sha256 != content_sha256(text):
        raise Conflicting(
            "This idempotency key was used for another message of the thread. Use a fresh key per message."
        )
    return known


def _open_or_join(agent_id: int, actor: Actor, channel: str, conversation_key: str, end_user_key: str) -> Conversation:
    try:
        return open_conversation(
            agent_id, actor=actor, channel=channel, conversation_key=conversation_key, end_user_key=end_user_key
        )
    except Conflicting:
        # Another message of the thread opened it between our look and our write.
        return (
            Conversation.objects.visible_to(actor)
            .open()
            .get(agent_id=agent_id, channel=channel, conversation_key=conversation_key)
        )


def _refuse_other_customer(conversation: Conversation, end_user_key: str) -> None:
    if end_user_key and conversation.end_user_key != end_user_key:
        flaw = f"This thread belongs to {conversation.end_user_key or 'nobody named'}. Use another conversation key."
        raise Invalid(flaw, {"end_user_key": [flaw]})


def _append_event(
    conversation: Conversation,
    actor: Actor,
    thread: dict[str, object],
    text: str,
    idempotency_key: str,
    sender_name: str,
) -> InboundEvent:
    event = InboundEvent(
        tenant_id=conversation.tenant_id,
        conversation=conversation,
        kind=InboundEvent.Kind.OPERATOR if actor.is_person else InboundEvent.Kind.MESSAGE,
        idempotency_key=idempotency_key,
        sender_name=sender_name[:120],
        text=text,
        text_sha256=content_sha256(text),
    )
    try:
        with transaction.atomic():
            event.save(force_insert=True)
    except IntegrityError:
        known = _known_event(actor, thread, idempotency_key, text)
        if known is None:
            raise
        return known
    return event
