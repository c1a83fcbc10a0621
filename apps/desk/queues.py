"""The desk's queues: reported replies, drafts and escalations that await a person, oldest first.

Conversation lists use the same queries as filters.
"""

from typing import Final

from django.db.models import QuerySet

from apps.desk.models import Draft, DraftQuerySet, Escalation, EscalationQuerySet
from apps.desk.reports.models import Report, ReportQuerySet
from apps.governance.actors import Actor

# Filters of conversation lists by reports.
REPORT_FILTERS: Final = {"open": "With an open report", "ever": "With any report that was not withdrawn"}


def waiting_reports(actor: Actor) -> ReportQuerySet:
    """Return the open reports, oldest first."""
    return Report.objects.visible_to(actor).open().order_by("pk")


def reported_conversation_ids(actor: Actor, which: str) -> QuerySet[Report, int]:
    """Return the ids of conversations with an open report (`which` is "open"), or with any report that was not withdrawn."""
    ever = Report.objects.visible_to(actor).exclude(status=Report.Status.WITHDRAWN)
    reports = waiting_reports(actor) if which == "open" else ever
    return reports.order_by().values_list("conversation_id", flat=True)


def waiting_drafts(actor: Actor) -> DraftQuerySet:
    """Return the open drafts, oldest first."""
    return Draft.objects.visible_to(actor).open().order_by("pk")


def waiting_escalations(actor: Actor) -> EscalationQuerySet:
    """Return the open escalations, oldest first."""
    return Escalation.objects.visible_to(actor).open().order_by("pk")
