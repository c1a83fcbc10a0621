"""A member's talk with an assistant (R129): theirs for life, read by nobody else, and no customer is in it."""

from uuid import uuid4

from apps.conversations.arriving import Sent, event_of, known_event, refuse_flaws, refuse_unstorable
from apps.conversations.models import Conversation, InboundEvent
from apps.conversations.rules import TALKS
from apps.governance.acting import acting
from apps.governance.actors import Actor
from apps.governance.door import authorize, governed
from apps.governance.errors import IllegalTransition, NotVisible
from apps.governance.models import Taint
from apps.governance.policy import Act
from apps.tenants.flavours import refuse_agent_for_customers


def open_talk(agent_id: int, *, actor: Actor, off_the_record: bool = False) -> Conversation:
    """Begin a talk of the member who acts. Whose it is, with whom and on which record is settled here for good."""
    refuse_agent_for_customers(agent_id, actor=actor)
    talk = Conversation(
        tenant_id=actor.tenant_id,
        agent_id=agent_id,
        channel=TALKS,
        conversation_key=f"{actor.user_id}-{uuid4().hex}",
        off_the_record=off_the_record,
        member_user_id=actor.user_id,
        taint=Taint.OPERATOR,
    )
    with governed(Act.CONVERSATION_TALK, talk, actor=actor):
        pass
    return talk


def say_in_talk(talk: Conversation, *, actor: Actor, text: str, idempotency_key: str) -> InboundEvent:
    """Tell an assistant something, in one's own talk. The same key again is the same message."""
    authorize(actor, Act.CONVERSATION_TALK, talk.tenant_id, agent_id=talk.agent_id)
    sent: Sent = {"text": text, "idempotency_key": idempotency_key, "sender_name": "", "line_key": ""}
    refuse_flaws(text, "", TALKS)
    refuse_unstorable(sent, {"agent_id": talk.agent_id, "channel": TALKS, "conversation_key": ""}, "")
    with acting(actor):
        # Locked, so that it is not closed between this look and the write.
        rows = Conversation.objects.visible_to(actor).select_for_update(no_key=True, of=("self",))
        stored = rows.talks_of(actor.user_id).filter(pk=talk.pk).order_by("pk").first()
        if stored is None:
            raise NotVisible("There is no such talk of yours.")
        event = event_of(sent, actor)
        return known_event(event, Conversation.objects.filter(pk=stored.pk), "talk") or _added(event, stored)


def _added(event: InboundEvent, talk: Conversation) -> InboundEvent:
    if talk.status != Conversation.Status.OPEN:
        raise IllegalTransition("You closed this talk; nobody writes in it any more. Begin another one.")
    event.conversation = talk
    event.save(force_insert=True)
    return event
