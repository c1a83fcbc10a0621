"""What waits for a person, whoever waited longest first, and what conversations are narrowed by."""

from typing import Final

from apps.governance.actors import Actor
from apps.reports.models import Report, ReportQuerySet

# By which reports conversations are narrowed.
REPORTED: Final = {"open": "A report waits", "ever": "Ever, and not withdrawn"}


def waiting_reports(actor: Actor) -> ReportQuerySet:
    """The reports that nobody settled yet, the oldest first."""
    return Report.objects.visible_to(actor).open().order_by("pk")


def reported(actor: Actor, which: str) -> ReportQuerySet:
    """Those by which conversations are narrowed: what waits, or whatever there was."""
    if which == "open":
        return waiting_reports(actor)
    return Report.objects.visible_to(actor).exclude(status=Report.Status.WITHDRAWN)
