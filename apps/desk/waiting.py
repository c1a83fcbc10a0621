"""What waits for a person, whoever waited longest first."""

from apps.desk.models import Draft, DraftQuerySet, Escalation, EscalationQuerySet
from apps.governance.actors import Actor


def waiting_drafts(actor: Actor) -> DraftQuerySet:
    """The drafts that wait, whoever waited longest first."""
    return Draft.objects.visible_to(actor).open().order_by("pk")


def waiting_escalations(actor: Actor) -> EscalationQuerySet:
    """The same of questions."""
    return Escalation.objects.visible_to(actor).open().order_by("pk")
