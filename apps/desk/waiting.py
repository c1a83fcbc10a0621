"""What waits for a person, asked from outside: how much, and which one comes next."""

from apps.desk.models import Draft, DraftQuerySet, Escalation, EscalationQuerySet
from apps.governance.acting import acting
from apps.governance.actors import Actor


def waiting_counts(actor: Actor) -> tuple[int, int]:
    """How many drafts and how many escalations wait in the whole tenant."""
    with acting(actor):
        return waiting_drafts(actor).count(), waiting_escalations(actor).count()


def waiting_drafts(actor: Actor) -> DraftQuerySet:
    """The drafts that wait, whoever waited longest first."""
    return Draft.objects.visible_to(actor).open().order_by("pk")


def waiting_escalations(actor: Actor) -> EscalationQuerySet:
    """The same of questions."""
    return Escalation.objects.visible_to(actor).open().order_by("pk")
