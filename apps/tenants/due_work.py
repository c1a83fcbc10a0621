"""What waits in the database, across tenants: ids only, through the one function that may look."""

from dataclasses import dataclass
from datetime import datetime

from django.db import connection

ROWS_PER_KIND = 200


def due_work(kind: str) -> list[tuple[int, int]]:
    """(tenant id, row id) of the rows that wait for a worker. The row ids of a kind are those of:

    - conversations: `turns`; `extractions`; `off_the_record_erasures`; `paused_delegations`, in which a paused agent owes an answer
    - agents: `lesson_captures` with a decision that no lesson was made of, `digests` with lessons that no digest has read,
      `reflections` whose day is over, `contradiction_scans` of this night, `distillations` with a tier that is due
    - others: `proposal_expiries` (proposals), `schedule_runs` (schedules), `tool_listings` (tool servers), `webhook_deliveries`,
      `scratch_notes` that nobody touched for long, `notifications` (preferences of a member), `review_webhooks` (webhooks that do
      not know of a review yet), `bulk_decisions` with proposals that are left
    - tenants: `idempotency_records` with results that have expired
    """
    return due_work_of_kinds(kind)[kind]


def due_work_of_kinds(*kinds: str) -> dict[str, list[tuple[int, int]]]:
    """The same of several kinds in one look, which walks no others."""
    due: dict[str, list[tuple[int, int]]] = {kind: [] for kind in kinds}
    with connection.cursor() as cursor:
        cursor.execute("SELECT kind, tenant_id, row_id FROM find_due_work(%s, %s)", [ROWS_PER_KIND, list(kinds)])
        for kind, tenant_id, row_id in cursor.fetchall():
            due[kind].append((int(tenant_id), int(row_id)))
    return due


@dataclass(frozen=True, slots=True)
class WaitingWork:
    """How many rows of a kind wait in one tenant, and since when the first; `held` while its money is kept for replies."""

    count: int
    since: datetime | None
    held: bool


def waiting_work(*kinds: str) -> dict[str, WaitingWork]:
    """What waits for a worker in the tenant of the transaction, one walk for each kind."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT kind, row_count, oldest_due_at, is_budget_reserved FROM count_due_work(%s)", [list(kinds)]
        )
        return {str(kind): WaitingWork(int(count), since, bool(held)) for kind, count, since, held in cursor.fetchall()}
