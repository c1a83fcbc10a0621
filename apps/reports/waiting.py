"""What waits for a person, whoever waited longest first."""

from apps.governance.actors import Actor
from apps.reports.models import Report, ReportQuerySet


def waiting_reports(actor: Actor) -> ReportQuerySet:
    """The reports that nobody settled yet, the oldest first."""
    return Report.objects.visible_to(actor).open().order_by("pk")
