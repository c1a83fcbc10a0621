"""What waits for a person, asked from outside: how much, and which one comes next."""

from apps.desk.models import Draft, Escalation
from apps.governance.acting import acting
from apps.governance.actors import Actor


def open_escalations(conversation_id: int, actor: Actor) -> int:
    """How many questions of a conversation wait; while any does, the agent's directive says so (R135)."""
    with acting(actor):
        return Escalation.objects.visible_to(actor).open().of_conversation(conversation_id).count()


def waiting_counts(actor: Actor) -> tuple[int, int]:
    """How many drafts and how many escalations wait in the whole tenant."""
    with acting(actor):
        drafts, escalations = Draft.objects.visible_to(actor), Escalation.objects.visible_to(actor)
        return drafts.open().count(), escalations.open().count()
