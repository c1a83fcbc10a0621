"""Checks messages and builds their rows: the thread, the terms, the text, and the reasons for a refusal.

A conversation refuses a message if it has ended, if it belongs to the other runner, or if the message contradicts its terms. An
agent cannot end a conversation that a person has taken over. Some acts are refused in members' talks.
"""

from dataclasses import dataclass
from typing import NotRequired, Self, TypedDict

from django.core.exceptions import ValidationError
from django.db import connection
from django.db.models import QuerySet

from apps.conversations.admission_control import CustomerProof
from apps.conversations.models import Conversation, InboundEvent
from apps.conversations.rules import KEY_CHARACTERS, LINE_CHARACTERS, SENDER_NAME_CHARACTERS, message_flaws
from apps.governance.actors import Actor, Role
from apps.governance.errors import Conflict, IllegalTransition, Invalid, NotPermitted
from apps.governance.stored_text import content_sha256, validate_storable_text
from apps.tenants.customer_verification import signing_key_id
from apps.tenants.rules import MOST_STEPS


def refuse_ended(conversation: Conversation) -> None:
    """Refuse a message to a conversation that has ended."""
    if conversation.status != Conversation.Status.OPEN:
        reason = f"This conversation is {conversation.status} and takes no more messages."
        raise IllegalTransition(f"{reason} The customer's next message opens a new one.")


def refuse_taken_over(conversation: Conversation, actor: Actor) -> None:
    """Refuse an agent's attempt to end a conversation that a person has taken over."""
    if conversation.is_held and actor.role is Role.AGENT:
        raise NotPermitted(
            "A colleague has taken over this conversation and will end it. Wait until it is handed back."
        )


def refuse_held_by_colleague(conversation: Conversation, actor: Actor) -> None:
    """Refuse a message to the customer of a conversation that another person has taken over."""
    if conversation.is_held and conversation.taken_over_by_id != actor.user_id:
        raise Conflict("A colleague has taken over this conversation and answers it. Take it over from them first.")


def refuse_member_talk(conversation: Conversation, why: str) -> None:
    """Refuse an act that is for customers' conversations only."""
    if conversation.is_talk:
        raise IllegalTransition(f"This is a member's talk with an assistant, not a customer's conversation. {why}")


def refuse_other_runner(conversation: Conversation, has_external_agent: bool | None) -> None:
    """Refuse a message for the other runner. A conversation keeps its runner, Preceptor or an external agent, until it ends."""
    if has_external_agent is None or conversation.has_external_agent == has_external_agent:
        return
    raise Conflict(
        "An external agent answers this conversation. Send the message to sessions/, or use another conversation key."
        if conversation.has_external_agent
        else "Preceptor answers in this conversation itself. Send the message to messages/, or use another conversation key."
    )


class ThreadKey(TypedDict):
    """The values that identify one thread of an agent."""

    agent_id: int
    channel: str
    conversation_key: str


@dataclass(frozen=True, slots=True)
class MessageTerms:
    """Terms of a message: its customer, record setting, proof and runner.

    None accepts the conversation's value. A person's message to the agent accepts either runner.
    """

    end_user_key: str
    off_the_record: bool | None
    proof: CustomerProof | None
    has_external_agent: bool | None

    @classmethod
    def of(
        cls, end_user_key: str, user_hash: str, actor: Actor, *, off_the_record: bool | None, has_external_agent: bool
    ) -> Self:
        """Build the terms from the values sent. Refuses an invalid proof."""
        proof = CustomerProof(signing_key_id(end_user_key, user_hash, actor=actor)) if user_hash else None
        return cls(end_user_key, off_the_record, proof, None if actor.is_person else has_external_agent)


class InboundMessageData(TypedDict):
    """The values of a message as sent."""

    text: str
    idempotency_key: str
    sender_name: str
    line_key: str
    max_steps: NotRequired[int | None]


def refuse_invalid_keys(sent: InboundMessageData, thread: ThreadKey, end_user_key: str) -> None:
    keys = {"end_user_key": end_user_key, "conversation_key": thread["conversation_key"]}
    keys |= {"sender_name": sent["sender_name"], "idempotency_key": sent["idempotency_key"]}
    limited = [(name, value, KEY_CHARACTERS) for name, value in keys.items()]
    steps = sent.get("max_steps")
    if steps is not None and not 1 <= steps <= MOST_STEPS:
        flaw = f"The value is {steps}; a turn takes 1 to {MOST_STEPS} steps."
        raise Invalid(f"The field max_steps is not valid. {flaw}", {"max_steps": [flaw]})
    for name, value, characters in (*limited, ("line", sent["line_key"], LINE_CHARACTERS)):
        try:
            validate_storable_text(value)
        except ValidationError as refusal:
            raise Invalid(
                f"The field {name} is not valid. {' '.join(refusal.messages)}", {name: refusal.messages}
            ) from refusal
        if len(value) > characters:
            flaw = f"The value has {len(value)} characters; at most {characters} are allowed."
            raise Invalid(f"The field {name} is not valid. {flaw}", {name: [flaw]})


def refuse_invalid_message(text: str, end_user_key: str, channel: str, *, is_of_customer: bool = False) -> None:
    flaws = message_flaws(text, end_user_key, channel, is_of_customer=is_of_customer)
    try:
        validate_storable_text(text)
    except ValidationError as refusal:
        flaws["text"] = refusal.messages
    if flaws:
        raise Invalid(
            "The message is not valid. " + " ".join(reason for reasons in flaws.values() for reason in reasons),
            flaws,
        )


def refuse_other_terms(conversation: Conversation, terms: MessageTerms) -> None:
    """Refuse a message whose terms differ from the conversation's customer, record setting or runner."""
    if terms.end_user_key and conversation.end_user_key != terms.end_user_key:
        flaw = f"This thread belongs to {conversation.end_user_key or 'a customer without a key'}. Use another conversation key."
        raise Invalid(flaw, {"end_user_key": [flaw]})
    if terms.off_the_record not in {None, conversation.off_the_record}:
        stands = "off" if conversation.off_the_record else "on"
        flaw = (
            f"This conversation opened {stands} the record and stays so. Leave the field out, or open another thread."
        )
        raise Invalid(flaw, {"off_the_record": [flaw]})
    refuse_other_runner(conversation, terms.has_external_agent)


def refuse_line_of_another(line_key: str, agent_id: int) -> None:
    """Refuse a message on a line whose identity card belongs to another agent (R133)."""
    if not line_key:
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT is_line_of_another_agent(%s, %s)", [line_key, agent_id])
        [is_anothers] = cursor.fetchone() or [False]
    if is_anothers:
        flaw = f"The line {line_key} belongs to another agent. Send the message to that agent, or leave the line out."
        raise Invalid(flaw, {"line": [flaw]})


def build_event(sent: InboundMessageData, actor: Actor) -> InboundEvent:
    """Build the row of an inbound message. A person's message carries their name."""
    return InboundEvent(
        tenant_id=actor.tenant_id,
        kind=InboundEvent.Kind.OPERATOR if actor.is_person else InboundEvent.Kind.MESSAGE,
        sent_by=actor.label if actor.is_person else "",
        idempotency_key=sent["idempotency_key"],
        sender_name=sent["sender_name"][:SENDER_NAME_CHARACTERS],
        line_key=sent["line_key"],
        max_steps=sent.get("max_steps"),
        text=sent["text"],
        text_sha256=content_sha256(sent["text"]),
    )


def find_event_by_key(event: InboundEvent, arrived: QuerySet[Conversation], where: str) -> InboundEvent | None:
    """Return the event with the same key in the conversations `arrived`, which `where` describes for the refusal.

    Raises Conflict if the texts differ. An event whose text was erased counts as equal.
    """
    rows = InboundEvent.objects.filter(conversation__in=arrived, idempotency_key=event.idempotency_key)
    known = rows.select_related("conversation").first()
    if known and known.text_sha256 not in {"", event.text_sha256}:
        raise Conflict(
            f"This idempotency key was used for another message of the {where}. Use a new key for each message."
        )
    return known
