"""Queues of the desk: reported replies, drafts and escalations that wait for a person, the longest wait first.

Conversation lists use the same queries as filters.
"""

from typing import Final

from django.db.models import QuerySet

from apps.desk.models import Draft, DraftQuerySet, Escalation, EscalationQuerySet
from apps.desk.reports.models import Report, ReportQuerySet
from apps.governance.actors import Actor

# By which reports conversations are narrowed.
REPORT_FILTERS: Final = {"open": "A report waits", "ever": "Ever, and not withdrawn"}


def waiting_reports(actor: Actor) -> ReportQuerySet:
    """The reports that nobody settled yet, the oldest first."""
    return Report.objects.visible_to(actor).open().order_by("pk")


def reported_conversation_ids(actor: Actor, which: str) -> QuerySet[Report, int]:
    """The ids of the conversations of which a reply was reported: where one waits, or wherever there was one."""
    ever = Report.objects.visible_to(actor).exclude(status=Report.Status.WITHDRAWN)
    reports = waiting_reports(actor) if which == "open" else ever
    return reports.order_by().values_list("conversation_id", flat=True)


def waiting_drafts(actor: Actor) -> DraftQuerySet:
    """The drafts that wait, whoever waited longest first."""
    return Draft.objects.visible_to(actor).open().order_by("pk")


def waiting_escalations(actor: Actor) -> EscalationQuerySet:
    """The same of questions."""
    return Escalation.objects.visible_to(actor).open().order_by("pk")
