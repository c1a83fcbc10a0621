"""The audit log for members of a tenant: verification on request, and the export of a range of days."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import islice
from typing import Final
from zoneinfo import ZoneInfo

from apps.governance.actors import Actor, Role
from apps.governance.audit.hash_chain import ChainVerification
from apps.governance.audit.log_reader import chain_entries, export_line, verify_audit_log
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, NotPermitted
from apps.governance.models import AuditLink
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.models.tenant import TenantSettings

# Verifying this many entries takes some seconds. Longer logs are verified with the management command.
MOST_ENTRIES: Final = 50_000
FINDINGS_SHOWN: Final = 100
TOO_LONG_TO_VERIFY: Final = (
    f"The audit log has more than {MOST_ENTRIES:,} entries, which takes too long to verify here."
    " The operator of the installation can verify it with:"
    " manage.py verify_audit"
)
TOO_MANY_TO_EXPORT: Final = f"These days have more than {MOST_ENTRIES:,} entries. Choose fewer days."
ONLY_ADMINS_EXPORT: Final = "Only an admin may export the audit log. Ask one in Members."


@dataclass(frozen=True, slots=True)
class AuditExport:
    """A range of days of the audit log, as a file."""

    name: str
    text: str


def verify_tenant_log(actor: Actor) -> ChainVerification:
    """Verify the whole audit log of the actor's tenant, and record the verification. Refused if there are too many entries."""
    with acting_as(system_actor(actor.tenant_id)):
        last = AuditLink.objects.filter(tenant_id=actor.tenant_id).order_by("-position").first()
        if last and last.position > MOST_ENTRIES:
            raise Conflict(TOO_LONG_TO_VERIFY)
        return verify_audit_log(actor.tenant_id, {})


def refuse_export(actor: Actor) -> None:
    """Refuse an actor who is not an admin: the person who exports the log is responsible for the copy."""
    if actor.role is not Role.ADMIN:
        raise NotPermitted(ONLY_ADMINS_EXPORT)


def export_audit_log(actor: Actor, since: date, until: date) -> AuditExport:
    """Export the entries of these days, one per line, without the texts of changes. Days are in the tenant's time zone."""
    refuse_export(actor)
    with acting_as(actor):
        settings = TenantSettings.objects.visible_to(actor).select_related("tenant").get()
        zone = ZoneInfo(settings.timezone)
        bounds = (datetime.combine(day, time(), zone) for day in (since, until + timedelta(days=1)))
        entries = islice(chain_entries(actor.tenant_id, *bounds), MOST_ENTRIES + 1)
        lines = [f"{export_line(linked, None)}\n" for linked, _ in entries]
    if len(lines) > MOST_ENTRIES:
        raise Conflict(TOO_MANY_TO_EXPORT)
    return AuditExport(f"books-{settings.tenant.key}-{since}-{until}.jsonl", "".join(lines))
