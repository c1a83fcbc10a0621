"""Actions on conversations. Receiving a message is authorised like an act, but its only record is the inbound event itself."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils import timezone

from apps.conversations.admission_control import admit_message
from apps.conversations.delegation import notify_parent_ended, notify_parent_taken_over
from apps.conversations.inbound_messages import (
    InboundMessageData,
    MessageTerms,
    ThreadKey,
    build_event,
    find_event_by_key,
    refuse_ended,
    refuse_held_by_colleague,
    refuse_invalid_keys,
    refuse_invalid_message,
    refuse_line_of_another,
    refuse_member_talk,
    refuse_other_terms,
    refuse_taken_over,
)
from apps.conversations.models import Conversation, InboundEvent, Message
from apps.conversations.rules import MEMBER_CHANNELS, ConversationLine
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, NotVisible
from apps.governance.governed_write import authorize, governed, governed_create
from apps.governance.models import Taint
from apps.governance.policy.policy_table import Act
from apps.tenants.agent_flavours import refuse_assistant
from apps.webhooks.outbox import enqueue_delivery
from apps.webhooks.rules import WebhookEvent


def open_conversation(
    agent_id: int,
    *,
    actor: Actor,
    channel: str,
    conversation_key: str,
    end_user_key: str = "",
    off_the_record: bool | None = None,
    has_external_agent: bool | None = False,
) -> Conversation:
    """Open a conversation. If an earlier one of the same thread and customer has ended, the new one follows it (Z-15).

    Two settings are fixed when a conversation opens: whether it is off the record, so that nothing is learned from it (R178), and
    whether an external agent answers. If the caller leaves a setting out, it is taken from the thread's previous conversation, so
    that a customer who wrote off the record stays off the record.
    """
    thread: ThreadKey = {"agent_id": agent_id, "channel": channel, "conversation_key": conversation_key}
    refuse_assistant(agent_id, actor=actor)
    conversation = Conversation(
        tenant_id=actor.tenant_id,
        **thread,
        **_opening_values(thread, actor, off_the_record=off_the_record, has_external_agent=has_external_agent),
        end_user_key=end_user_key,
        follows=_ended_conversation(thread, actor, end_user_key=end_user_key),
        taint=Taint.CUSTOMER,
    )
    return governed_create(Act.CONVERSATION_OPEN, conversation, actor=actor)


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
    user_hash: str = "",
    max_steps: int | None = None,
    has_external_agent: bool = False,
) -> InboundEvent:
    """Receive a customer's message. A repeated key returns the first event; another text under the same key is refused (R126).

    The message that opens a conversation decides whether it is off the record. Later messages may leave the setting out or must
    agree with it. `user_hash` proves the customer's identity, `max_steps` limits the turn that answers (R124), and with
    `has_external_agent` the sender's own program answers.
    """
    authorize(actor, Act.MESSAGE_RECEIVE, actor.tenant_id, agent_id=agent_id)
    thread: ThreadKey = {"agent_id": agent_id, "channel": channel, "conversation_key": conversation_key}
    sent: InboundMessageData = {
        "text": text,
        "idempotency_key": idempotency_key,
        "sender_name": sender_name,
        "line_key": line_key,
    }
    sent["max_steps"] = max_steps
    refuse_invalid_message(
        text, end_user_key, channel, is_of_customer=not actor.is_person or channel in MEMBER_CHANNELS
    )
    refuse_invalid_keys(sent, thread, end_user_key)
    terms = MessageTerms.of(
        end_user_key, user_hash, actor, off_the_record=off_the_record, has_external_agent=has_external_agent
    )
    with acting_as(actor):
        return _find_or_append_event(build_event(sent, actor), thread, actor, terms)


def resolve_conversation(
    conversation: Conversation,
    *,
    actor: Actor,
    outcome: Conversation.Outcome = Conversation.Outcome.UNKNOWN,
    read_at: int | None = None,
) -> Conversation:
    """Resolve a conversation. Learning from it happens later, when a sweep finds the conversation (R109)."""
    with governed(Act.CONVERSATION_RESOLVE, conversation, actor=actor, read_at=read_at) as row:
        refuse_taken_over(row, actor)
        refuse_member_talk(row, "Close it on its own page.")
        row.resolve()
        row.outcome = outcome
        row.resolved_at = timezone.now()
        enqueue_delivery(WebhookEvent.RESOLVED, row.pk, row.pk, tenant_id=row.tenant_id)
        notify_parent_ended(row)
    return conversation


def abandon_conversation(conversation: Conversation, *, actor: Actor, read_at: int | None = None) -> Conversation:
    """Abandon a conversation that the customer left. Nothing is learned from it (R108)."""
    with governed(Act.CONVERSATION_ABANDON, conversation, actor=actor, read_at=read_at) as row:
        refuse_taken_over(row, actor)
        row.abandon()
        notify_parent_ended(row)
    return conversation


def take_over_conversation(conversation: Conversation, *, actor: Actor, read_at: int | None = None) -> Conversation:
    """Take over a conversation: a person answers, and the agent does not answer until the conversation is handed back.

    A colleague's conversation may be taken over too; the change record names that colleague.
    """
    with governed(Act.CONVERSATION_TAKE_OVER, conversation, actor=actor, read_at=read_at) as row:
        refuse_ended(row)
        refuse_member_talk(row, "Only its member writes there.")
        if row.taken_over_by_id == actor.user_id:
            raise Conflict("You have taken over this conversation already. Write to the customer, or hand it back.")
        if not row.is_held:
            notify_parent_taken_over(row)
        row.taken_over_by, row.taken_over_by_id, row.taken_over_at = actor.label, actor.user_id, timezone.now()
    return conversation


def hand_back_conversation(conversation: Conversation, *, actor: Actor, read_at: int | None = None) -> Conversation:
    """Hand a conversation back to its agent, which gets the messages that were sent meanwhile."""
    with governed(Act.CONVERSATION_HAND_BACK, conversation, actor=actor, read_at=read_at) as row:
        if not row.is_held:
            raise Conflict("Nobody has taken over this conversation. The agent answers it already.")
        row.taken_over_by, row.taken_over_by_id, row.taken_over_at = "", None, None
    return conversation


def send_message(
    conversation: Conversation,
    *,
    actor: Actor,
    sender: Message.Sender,
    text: str,
    wire: Mapping[str, Any],  # Any: a message in the form of the model's API
    turn_id: int | None = None,
) -> Message:
    """Send the customer a text of a person, or of an agent after a person's approval. `wire` is the text's form for the agent.

    While a person has taken the conversation over, only that person sends.
    """
    authorize(actor, Act.MESSAGE_SEND, conversation.tenant_id, agent_id=conversation.agent_id)
    refuse_invalid_message(text, "", conversation.channel)
    with acting_as(actor):
        # Locked, so that no other message takes the same position.
        stored = _lock_conversation(conversation, actor)
        refuse_ended(stored)
        refuse_member_talk(stored, "Only its assistant answers there.")
        refuse_held_by_colleague(stored, actor)
        message = Message.objects.create(
            tenant_id=stored.tenant_id,
            conversation=stored,
            position=stored.next_position,
            sender=sender,
            text=text,
            api_message=wire,
            turn_id=turn_id,
            is_reply=True,
        )
        enqueue_delivery(WebhookEvent.REPLY, stored.pk, message.pk, tenant_id=stored.tenant_id)
        return message


def import_conversation(
    agent_id: int,
    *,
    actor: Actor,
    transcript_id: str,
    lines: Sequence[ConversationLine],
    outcome: Conversation.Outcome,
) -> Conversation | None:
    """Import a finished transcript as a resolved conversation. Returns None if it was imported before."""
    refuse_assistant(agent_id, actor=actor)
    with acting_as(actor):
        key = {"agent_id": agent_id, "conversation_key": transcript_id, "origin": Conversation.Origin.IMPORTED}
        if Conversation.objects.visible_to(actor).filter(**key).exists():
            return None
    conversation = Conversation(tenant_id=actor.tenant_id, channel="import", taint=Taint.IMPORT, **key)
    with acting_as(actor):
        governed_create(Act.CONVERSATION_IMPORT, conversation, actor=actor)
        append_messages(conversation, lines, actor=actor)
        resolve_conversation(conversation, actor=actor, outcome=outcome)
    return conversation


def append_messages(conversation: Conversation, lines: Sequence[ConversationLine], *, actor: Actor) -> list[Message]:
    """Append the lines of an imported transcript."""
    authorize(actor, Act.CONVERSATION_IMPORT, conversation.tenant_id, agent_id=conversation.agent_id)
    with acting_as(actor):
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


def _lock_conversation(conversation: Conversation, actor: Actor) -> Conversation:
    rows = Conversation.objects.visible_to(actor).select_for_update(no_key=True, of=("self",))
    stored = rows.filter(pk=conversation.pk).order_by("pk").first()
    if stored is None:
        raise NotVisible("There is no such conversation.")
    return stored


def _opening_values(thread: ThreadKey, actor: Actor, **options: bool | None) -> dict[str, bool]:
    """Return the settings that are fixed when a conversation opens. Missing ones come from the thread's previous conversation."""
    before = _ended_conversation(thread, actor) if None in options.values() else None
    stood = before or Conversation()
    return {name: getattr(stood, name) if value is None else value for name, value in options.items()}


def _ended_conversation(thread: ThreadKey, actor: Actor, **of_customer: str) -> Conversation | None:
    with acting_as(actor):
        threads = Conversation.objects.visible_to(actor).filter(**thread, **of_customer)
        return threads.exclude(status=Conversation.Status.OPEN).first()


def _find_or_append_event(event: InboundEvent, thread: ThreadKey, actor: Actor, terms: MessageTerms) -> InboundEvent:
    known = _find_event(event, thread, actor)
    if known:
        refuse_other_terms(known.conversation, terms)
        return known
    refuse_line_of_another(event.line_key, thread["agent_id"])
    # Locked, so that it is not resolved between this check and the write.
    rows = Conversation.objects.visible_to(actor).select_for_update(no_key=True, of=("self",)).select_related("agent")
    conversation = rows.open().filter(**thread).first()
    if conversation is None:
        conversation = _open_or_join(thread, actor, terms)
    refuse_other_terms(conversation, terms)
    if event.kind == InboundEvent.Kind.MESSAGE:
        admit_message(conversation, terms.proof, actor=actor)
    event.conversation = conversation
    return _append_event(event, thread, actor)


def _find_event(event: InboundEvent, thread: ThreadKey, actor: Actor) -> InboundEvent | None:
    return find_event_by_key(event, Conversation.objects.visible_to(actor).filter(**thread), "thread")


def _open_or_join(thread: ThreadKey, actor: Actor, terms: MessageTerms) -> Conversation:
    try:
        return open_conversation(
            **thread,
            end_user_key=terms.end_user_key,
            off_the_record=terms.off_the_record,
            has_external_agent=terms.has_external_agent,
            actor=actor,
        )
    except Conflict:
        # Another message of the thread opened the conversation between the check and the write.
        return Conversation.objects.visible_to(actor).open().get(**thread)


def _append_event(event: InboundEvent, thread: ThreadKey, actor: Actor) -> InboundEvent:
    event.due_at = Now() + timedelta(seconds=event.debounce_seconds)
    try:
        with transaction.atomic():
            event.save(force_insert=True)
    except IntegrityError:
        known = _find_event(event, thread, actor)
        if known is None:
            raise
        return known
    return event
