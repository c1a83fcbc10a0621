"""The delay notice: the sentence that a customer gets while the spent budget of the day delays the answer."""

from apps.conversations.models import Conversation, InboundEvent, Message
from apps.governance.actors import Actor
from apps.prompt.prompt_input import SendMode
from apps.runtime.kill_switch_checks import is_sending_paused, is_taken_over
from apps.runtime.models import Turn
from apps.runtime.turn_store.turn_claim import TurnClaim
from apps.runtime.turns.waiting_messages import write_to_transcript
from apps.webhooks.outbox import enqueue_delivery
from apps.webhooks.rules import WebhookEvent


def send_delay_notice(claimed: TurnClaim, *, actor: Actor) -> None:
    """Send the agent's sentence for the channel, once for each turn. The caller has the turn locked.

    The customer's messages are written into the transcript first, so that the notice follows them.
    """
    turn, text = claimed.turn, claimed.agent.delay_notice_on(claimed.conversation.channel)
    if turn.delay_notice_id is not None or not text or not _reaches_customer(claimed, actor):
        return
    rows = Conversation.objects.visible_to(actor).select_for_update(no_key=True, of=("self",))
    conversation = rows.get(pk=claimed.conversation.pk)
    write_to_transcript(conversation, claimed.events)
    notice = Message.objects.create(
        tenant_id=conversation.tenant_id,
        conversation=conversation,
        position=conversation.next_position,
        sender=Message.Sender.AGENT,
        text=text,
        is_reply=True,
    )
    Turn.objects.filter(pk=turn.pk).update(delay_notice=notice)
    enqueue_delivery(WebhookEvent.REPLY, conversation.pk, notice.pk, tenant_id=conversation.tenant_id)


def _reaches_customer(claimed: TurnClaim, actor: Actor) -> bool:
    """Whether a customer wrote and is sent replies. Without them: members, other agents, schedules and observed channels."""
    conversation = claimed.conversation
    if conversation.is_talk or conversation.is_asked or conversation.has_external_agent:
        return False
    has_written = any(event.kind == InboundEvent.Kind.MESSAGE for event in claimed.events)
    if not has_written or claimed.send_mode is SendMode.OBSERVE:
        return False
    return not (is_sending_paused(conversation, actor=actor) or is_taken_over(conversation, actor=actor))
