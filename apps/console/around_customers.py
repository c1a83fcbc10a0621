"""What there is about a customer beside the profile: threads by channel, what waits for a person, notes, and frozen prompts."""

from typing import Any, Final

from django.db.models import Count, Max

from apps.conversations.models import Conversation
from apps.desk.models import Draft, Escalation
from apps.governance.actors import Actor
from apps.notebook.models import Note
from apps.runtime.models import Session

SHOWN: Final = 10


def around(end_user_key: str, actor: Actor) -> dict[str, Any]:
    """The latest of each that the actor sees; sessions, drafts and escalations of the listed conversations alone."""
    theirs = Conversation.objects.visible_to(actor).of_customers().filter(end_user_key=end_user_key)
    listed = list(theirs.select_related("agent")[:SHOWN])
    threads = [conversation.pk for conversation in listed]
    by_channel = theirs.order_by().values("channel").annotate(count=Count("pk"), latest=Max("created_at"))
    notes = Note.objects.visible_to(actor).open().filter(end_user_key=end_user_key).select_related("agent")
    drafts = Draft.objects.visible_to(actor).filter(conversation_id__in=threads, status=Draft.Status.OPEN)
    escalations = Escalation.objects.visible_to(actor).filter(conversation_id__in=threads).open()
    return {
        "conversations": listed,
        "channels": list(by_channel.order_by("-latest")),
        "notes": list(notes[:SHOWN]),
        "drafts": list(drafts.select_related("agent")[:SHOWN]),
        "escalations": list(escalations.select_related("agent")[:SHOWN]),
        "sessions": list(
            Session.objects.filter(tenant_id=actor.tenant_id, conversation_id__in=threads)
            .select_related("agent", "conversation")
            .order_by("-pk")[:SHOWN]
        ),
    }
