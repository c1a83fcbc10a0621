"""Reports of wrong replies from any surface, by message id."""

from apps.conversations.models import Conversation, Message
from apps.desk.reports.actions import make_report
from apps.desk.reports.models import Report
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import NotVisible


def report_reply(
    message_id: int, *, actor: Actor, reason_code: str, explanation: str = "", correction: str = ""
) -> Report:
    """Report an agent's reply as wrong. A reply in a conversation that the person may not see counts as missing."""
    with acting_as(actor):
        threads = Conversation.objects.visible_to(actor)
        found = Message.objects.filter(pk=message_id, tenant_id=actor.tenant_id, conversation__in=threads)
        message = found.select_related("conversation").first()
        if message is None:
            raise NotVisible("There is no such reply.")
        return make_report(
            message.pk,
            actor=actor,
            conversation_id=message.conversation_id,
            agent_id=message.conversation.agent_id,
            reason_code=reason_code,
            explanation=explanation,
            correction=correction,
        )
