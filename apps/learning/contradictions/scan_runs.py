"""The only writer of scans: one worker at a time scans an agent's lines, once a night, by the database's clock."""

from dataclasses import asdict, dataclass
from datetime import date, datetime
from typing import Final

from django.db import connection

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import NotVisible
from apps.governance.governed_write import authorize
from apps.governance.policy.policy_table import Act
from apps.governance.refusal_log import recording_refusals
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.models import Agent

# Many times the duration of the longest scan; after this time another worker may replace one that died.
LEASE_SECONDS: Final = 600

_CLAIM_SCAN_SQL: Final = """
INSERT INTO learning_contradictionscan AS held (tenant_id, agent_id, lease_until, text_count, pair_count, is_complete)
VALUES (app_tenant(), %(agent)s, statement_timestamp() + %(lease)s * interval '1 second', 0, 0, true)
ON CONFLICT (tenant_id, agent_id) DO UPDATE SET lease_until = excluded.lease_until, requested_at = NULL
 WHERE held.lease_until <= statement_timestamp()
   AND (%(at_once)s OR held.requested_at IS NOT NULL OR coalesce(held.scan_date < %(scan_date)s, true))
RETURNING lease_until, scanned_at
"""
# A worker that lost its lease writes nothing.
_END_SCAN_SQL: Final = """
UPDATE learning_contradictionscan SET lease_until = statement_timestamp(), scan_date = greatest(scan_date, %(scan_date)s),
       scanned_at = statement_timestamp(), text_count = %(text_count)s, pair_count = %(pair_count)s, is_complete = %(is_complete)s
 WHERE tenant_id = app_tenant() AND agent_id = %(agent_id)s AND lease_until = %(lease_until)s
"""

_REQUEST_SCAN_SQL: Final = """
INSERT INTO learning_contradictionscan AS held (tenant_id, agent_id, lease_until, text_count, pair_count, is_complete, requested_at)
VALUES (app_tenant(), %(agent)s, statement_timestamp(), 0, 0, true, statement_timestamp())
ON CONFLICT (tenant_id, agent_id) DO UPDATE SET requested_at = excluded.requested_at
"""


@dataclass(frozen=True, slots=True)
class ScanLease:
    """The lease of a scan: the agent, the night, and the end of the previous scan."""

    agent_id: int
    scan_date: date
    lease_until: datetime
    scanned_at: datetime | None


@dataclass(frozen=True, slots=True)
class ScanExtent:
    """How much a scan compared; `is_complete` is false if the scan stopped at a limit."""

    text_count: int
    pair_count: int
    is_complete: bool


def request_scan(agent_id: int, *, actor: Actor) -> None:
    """Request a scan of an agent's lines within a minute, even if tonight's scan has ended."""
    authorize(actor, Act.CONTRADICTION_SCAN, actor.tenant_id)
    with recording_refusals(actor, Act.CONTRADICTION_SCAN), acting_as(actor):
        if not Agent.objects.visible_to(actor).filter(pk=agent_id).exists():
            raise NotVisible("There is no such agent.")
        authorize(actor, Act.CONTRADICTION_SCAN, actor.tenant_id, agent_id=agent_id)
        with acting_as(system_actor(actor.tenant_id)), connection.cursor() as cursor:
            cursor.execute(_REQUEST_SCAN_SQL, {"agent": agent_id})


def claim_scan(agent_id: int, scan_date: date, *, actor: Actor, at_once: bool) -> ScanLease | None:
    """Lease an agent's lines for one scan; None if another worker is scanning, or tonight's scan has ended.

    With `at_once` (a person's request), the end of tonight's scan does not matter.
    """
    with acting_as(actor), connection.cursor() as cursor:
        cursor.execute(
            _CLAIM_SCAN_SQL, {"agent": agent_id, "lease": LEASE_SECONDS, "scan_date": scan_date, "at_once": at_once}
        )
        row = cursor.fetchone()
    return ScanLease(agent_id, scan_date, *row) if row else None


def end_scan(held: ScanLease, extent: ScanExtent, *, actor: Actor) -> None:
    """Release the lease and store the extent of the scan."""
    with acting_as(actor), connection.cursor() as cursor:
        cursor.execute(_END_SCAN_SQL, {**asdict(held), **asdict(extent)})
