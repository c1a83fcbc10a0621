"""Replies that a person sends to a customer: their own text, an agent's draft, or the answer to a question. Each is one commit.

To the customer, all of them are messages of the business. To the agent, a person's own text is an instruction in the user turn
and not one of its own replies: the agent did not write the text, and it would imitate a marker within its replies.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from django.db import IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from apps.conversations.actions import hand_back_conversation, send_message
from apps.conversations.inbound_messages import refuse_held_by_colleague
from apps.conversations.models import Conversation, InboundEvent, Message
from apps.desk.actions import answer_escalation, discard_draft, send_draft, send_edited_draft
from apps.desk.models import Draft, Escalation
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, NotVisible, Stale
from apps.governance.governed_write import authorize
from apps.governance.policy.policy_table import Act
from apps.prompt.instruction_texts import COLLEAGUE_WROTE, ESCALATION_ANSWERED
from apps.prompt.prompt_input import EventKind, TextProvenance, TurnEvent, TurnInput
from apps.prompt.rendering.segments import SlotText, encode_segments
from apps.prompt.rendering.user_turn import render_user_turn
from apps.runtime.models import ToolStep, Turn
from apps.runtime.tools.delegation_answers import ANSWER_WITHHELD, relay_to_parent, tell_agent
from apps.runtime.tools.toolbox import UNKNOWN_OUTCOME
from apps.runtime.turn_store.model_steps import canonical_object
from apps.runtime.turns.user_turn import prompt_event, user_turn_message
from apps.runtime.turns.waiting_messages import conversation_length, write_to_transcript
from apps.runtime.wakeup import wake_worker_on_commit
from apps.tenants.authentication.actor_resolution import system_actor

# Stands for no message, where a message id is expected.
NO_MESSAGE: Final = 0

ONE_MICROSECOND = timedelta(microseconds=1)


def write_to_customer(conversation: Conversation, *, actor: Actor, text: str, seen_length: int) -> Message:
    """Answer in place of the agent, as the person who took over. The answer covers all messages that have no answer yet.

    A turn of the agent that still runs becomes the person's: its worker may write nothing more into it.

    `seen_length` is the length of the conversation that the person saw. Raises Stale if the conversation has grown, so that
    nobody sends a message twice or without having read a colleague's message.
    """
    authorize(actor, Act.MESSAGE_SEND, conversation.tenant_id, agent_id=conversation.agent_id)
    with acting_as(actor):
        # Locked before the conversation, as a worker does that ends the turn.
        running = _lock_running_turn(conversation)
        stored = _lock_taken_over(conversation, actor)
        if seen_length != (there := conversation_length(stored)):
            raise Stale("The conversation went on since you read it. Read the new messages, then send again.", there)
        system = system_actor(stored.tenant_id)
        with acting_as(system):
            turn, waiting = _begin_operator_turn(stored, running)
        turned = _render_user_turn(stored, waiting, text, actor)
        message = send_message(
            stored,
            actor=actor,
            sender=Message.Sender.OPERATOR,
            text=text,
            wire=user_turn_message(turned),
            turn_id=turn.pk if turn else None,
        )
        if turn is not None:
            with acting_as(system):
                _end_turn(turn, message, turned)
        _relay_answer(message)
    return message


def send_reviewed_draft(
    draft: Draft, *, actor: Actor, reviewed_sha256: str, text: str | None = None, read_at: int | None = None
) -> Draft:
    """Send a draft unchanged, or as the person changed it. The message and the decision are written in one commit."""
    is_edited = text is not None and text != draft.text
    sent_text = text if text is not None and is_edited else draft.text
    act = Act.DRAFT_SEND_EDITED if is_edited else Act.DRAFT_SEND
    authorize(actor, act, draft.tenant_id, agent_id=draft.agent_id)
    with acting_as(actor):
        message_id = _send_draft_message(draft, sent_text, actor)
        if not is_edited:
            return send_draft(
                draft, actor=actor, message_id=message_id, reviewed_sha256=reviewed_sha256, read_at=read_at
            )
        return send_edited_draft(
            draft,
            actor=actor,
            message_id=message_id,
            sent_text=sent_text,
            reviewed_sha256=reviewed_sha256,
            read_at=read_at,
        )


def decline_draft(
    draft: Draft, *, actor: Actor, reason_code: str, reason: str = "", read_at: int | None = None
) -> Draft:
    """Discard a draft. If another agent waits for it as an answer, that agent is notified."""
    with acting_as(actor):
        discarded = discard_draft(draft, actor=actor, reason_code=reason_code, reason=reason, read_at=read_at)
        relay_to_parent(discarded.conversation, InboundEvent.Kind.ANSWER, ANSWER_WITHHELD, f"draft-{draft.pk}")
    return discarded


def answer_question(
    escalation: Escalation, *, actor: Actor, answer: str, word_for_word: bool = False, read_at: int | None = None
) -> Escalation:
    """Answer an escalated question. The agent relays the answer to the customer, in a new conversation if this one has ended.

    With `word_for_word` the answer is sent to the customer unchanged, and the agent is notified. An ended conversation between
    agents is not continued: the answer goes to the agent that delegated.
    """
    with acting_as(actor):
        conversation = escalation.conversation
        answer_escalation(escalation, actor=actor, answer=answer, read_at=read_at)
        if word_for_word:
            wire = user_turn_message(_render_user_turn(conversation, (), answer, actor))
            _relay_answer(
                send_message(conversation, actor=actor, sender=Message.Sender.OPERATOR, text=answer, wire=wire)
            )
            return escalation
        if conversation.is_asked and conversation.status != Conversation.Status.OPEN:
            relay_to_parent(conversation, InboundEvent.Kind.ANSWER, answer, f"escalation-{escalation.pk}")
            return escalation
        notice = f"{ESCALATION_ANSWERED.format(reason=escalation.reason.replace('_', ' '))}\n\n{answer}"
        tell_agent(conversation, notice, f"escalation-{escalation.pk}", actor=actor)
    return escalation


def hand_back(conversation: Conversation, *, actor: Actor, read_at: int | None = None) -> Conversation:
    """Hand the conversation back to the agent, which answers the pending messages at once."""
    with acting_as(actor):
        hand_back_conversation(conversation, actor=actor, read_at=read_at)
        wake_worker_on_commit(conversation.tenant_id, conversation.pk)
    return conversation


def _send_draft_message(draft: Draft, text: str, actor: Actor) -> int:
    """Send the message of a draft and return its id. NO_MESSAGE if the draft is no longer waiting; the act then refuses."""
    conversation = _lock_conversation(draft.conversation_id, actor)
    if not Draft.objects.visible_to(actor).open().filter(pk=draft.pk).exists():
        return NO_MESSAGE
    message = send_message(
        conversation,
        actor=actor,
        sender=Message.Sender.AGENT,
        text=text,
        wire=canonical_object({"role": "assistant", "content": [{"type": "text", "text": text}]}),
        turn_id=draft.turn_id,
    )
    _relay_answer(message)
    return int(message.pk)


def _relay_answer(message: Message) -> None:
    """Relay a sent message as the answer to the agent that delegated, if there is one."""
    relay_to_parent(message.conversation, InboundEvent.Kind.ANSWER, message.text, f"message-{message.pk}")


def _lock_conversation(conversation_id: int, actor: Actor) -> Conversation:
    """Lock the conversation, so that two people who send at the same time do so one after the other."""
    rows = Conversation.objects.visible_to(actor).select_for_update(no_key=True, of=("self",))
    stored = rows.filter(pk=conversation_id).order_by("pk").first()
    if stored is None:
        raise NotVisible("There is no such conversation.")
    return stored


def _lock_taken_over(conversation: Conversation, actor: Actor) -> Conversation:
    stored = _lock_conversation(conversation.pk, actor)
    if not stored.is_held:
        raise Conflict("The agent answers here. Take the conversation over first, then write.")
    refuse_held_by_colleague(stored, actor)
    return stored


def _lock_running_turn(conversation: Conversation) -> Turn | None:
    """Lock the agent's running turn. None if there is none, or if an external agent reports it."""
    if conversation.has_external_agent:
        return None
    with acting_as(system_actor(conversation.tenant_id)):
        running = Turn.objects.filter(conversation=conversation, status=Turn.Status.RUNNING)
        return running.select_for_update(no_key=True, of=("self",)).first()


def _begin_operator_turn(conversation: Conversation, running: Turn | None) -> tuple[Turn | None, list[InboundEvent]]:
    """Begin a turn of the person for the pending messages, or take over the agent's running one with its messages.

    None if nothing is pending, or if a worker has a turn that the person cannot take over.
    """
    events = InboundEvent.objects.filter(conversation=conversation, turn_id=None)
    waiting = list(events.select_for_update(no_key=True).order_by("pk"))
    turn = _take_over_turn(running) if running else _create_turn(conversation) if waiting else None
    if turn is None:
        return None, []
    if running:
        taken = InboundEvent.objects.filter(conversation=conversation, turn_id=running.pk).order_by("pk")
        waiting = [*taken, *waiting]
    events.filter(pk__in=[event.pk for event in waiting]).update(turn_id=turn.pk)
    write_to_transcript(conversation, waiting)
    return turn, waiting


def _take_over_turn(running: Turn) -> Turn:
    """Raise the fence, so that the turn's worker loses it, and close tool calls whose outcome nobody will learn."""
    Turn.objects.filter(pk=running.pk).update(fence=F("fence") + 1, is_released=False, failure_code="", failure="")
    ToolStep.objects.filter(turn=running, state=ToolStep.State.STARTED).update(
        state=ToolStep.State.UNKNOWN, result=UNKNOWN_OUTCOME.text, is_error=True, finished_at=Now()
    )
    return running


def _create_turn(conversation: Conversation) -> Turn | None:
    if Turn.objects.filter(conversation=conversation, status=Turn.Status.RUNNING).exists():
        return None
    try:
        with transaction.atomic():
            return Turn.objects.create(tenant_id=conversation.tenant_id, conversation=conversation, lease_until=Now())
    except IntegrityError:
        # A worker began a turn between the check and the write.
        return None


def _end_turn(turn: Turn, message: Message, turned: SlotText) -> None:
    Turn.objects.filter(pk=turn.pk).update(
        status=Turn.Status.DONE,
        outcome=Turn.Outcome.REPLIED,
        reply=message,
        finished_at=Now(),
        user_turn_segments=encode_segments(turned),
    )


def _render_user_turn(conversation: Conversation, waiting: Sequence[InboundEvent], text: str, actor: Actor) -> SlotText:
    """The user turn with the customer's messages and the person's answer, rendered like any other user turn."""
    own = TextProvenance(
        conversation._meta.label_lower, conversation.pk, conversation.version, "", actor.label, actor.label
    )
    at = max([timezone.now(), *(event.received_at for event in waiting)]) + ONE_MICROSECOND
    answered = TurnEvent(EventKind.OPERATOR, f"{COLLEAGUE_WROTE}\n\n{text}", at, source=own)
    events = (*(prompt_event(event, conversation) for event in waiting), answered)
    return render_user_turn(TurnInput(events=events, now_line=None, off_the_record=conversation.off_the_record)).part
