"""Quarantine of rows: who put a row in quarantine, when and why. What that means for the row is up to its app."""

from datetime import datetime
from typing import ClassVar, Protocol

from django.db.models import CheckConstraint, Q
from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.errors import Conflict, refuse_blank


class Quarantinable(Protocol):
    """A row that a person can put in quarantine."""

    noun: ClassVar[str]
    quarantined_at: datetime | None
    quarantined_by: str
    quarantine_reason: str


def quarantine_constraint(noun: str) -> CheckConstraint:
    """Return the constraint that a row in quarantine names the person and the reason, and that any other row names neither."""
    says_who_and_why = Q(quarantined_at__isnull=False) & ~Q(quarantined_by="") & ~Q(quarantine_reason="")
    return CheckConstraint(
        condition=Q(quarantined_at=None, quarantined_by="", quarantine_reason="") | says_who_and_why,
        name=f"quarantined_{noun}_says_who_and_why",
    )


def put_in_quarantine(row: Quarantinable, actor: Actor, reason: str) -> None:
    """Stamp the row within its act. Refuses a blank reason, and a row that is in quarantine already."""
    refuse_blank(reason, f"Give a reason for the quarantine. The person who releases the {row.noun} has to know it.")
    if row.quarantined_at is not None:
        raise Conflict(f"This {row.noun} is in quarantine already: {row.quarantine_reason}")
    row.quarantined_at, row.quarantined_by, row.quarantine_reason = timezone.now(), actor.label, reason


def release_from_quarantine(row: Quarantinable, reason: str) -> None:
    """Clear the stamp within the act of a release. Refuses a blank reason, and a row that is not in quarantine."""
    refuse_blank(reason, "Give a reason for the release.")
    if row.quarantined_at is None:
        raise Conflict(f"This {row.noun} is not in quarantine.")
    row.quarantined_at, row.quarantined_by, row.quarantine_reason = None, "", ""
