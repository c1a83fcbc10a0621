"""A tenant's books as its people may have them: verified at a word, and handed out for some days."""

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

# Some seconds of reading; what is longer is a command's work.
MOST_ENTRIES: Final = 50_000
FINDINGS_SHOWN: Final = 100
TOO_LONG_TO_VERIFY: Final = (
    f"The books have more than {MOST_ENTRIES:,} entries, which nobody waits for here."
    " Whoever runs the installation verifies them with:"
    " manage.py verify_audit"
)
TOO_MANY_TO_EXPORT: Final = f"More than {MOST_ENTRIES:,} entries are of these days. Choose fewer days."
ONLY_ADMINS_EXPORT: Final = "Only an admin takes the books out of the house. Ask one in Members."


@dataclass(frozen=True, slots=True)
class AuditExport:
    """Some days of the books, as a file."""

    name: str
    text: str


def verify_tenant_log(actor: Actor) -> ChainVerification:
    """Read the books of the actor's tenant whole, and note in them that it was done; refused where there is too much to read."""
    with acting_as(system_actor(actor.tenant_id)):
        last = AuditLink.objects.filter(tenant_id=actor.tenant_id).order_by("-position").first()
        if last and last.position > MOST_ENTRIES:
            raise Conflict(TOO_LONG_TO_VERIFY)
        return verify_audit_log(actor.tenant_id, {})


def refuse_export(actor: Actor) -> None:
    """Whoever takes the books out answers for where they go."""
    if actor.role is not Role.ADMIN:
        raise NotPermitted(ONLY_ADMINS_EXPORT)


def export_audit_log(actor: Actor, since: date, until: date) -> AuditExport:
    """One line for each entry of these days by the tenant's clock, the last one included, without the words of changes."""
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
