"""Due work across all tenants, as ids only. One SQL function reads it, because no role may read across tenants."""

from dataclasses import dataclass
from datetime import datetime

from django.db import connection

ROWS_PER_KIND = 200


def due_work(kind: str) -> list[tuple[int, int]]:
    """Return (tenant id, row id) of the due rows of a kind. The rows are:

    - conversations: `turns`; `extractions`; `off_the_record_erasures`; `paused_delegations`, in which a paused agent owes an
      answer
    - agents: `lesson_captures` with a decision from which no lesson was made, `digests` with lessons that no digest has read,
      `reflections` whose day is over, `contradiction_scans` due this night, `distillations` with a due tier
    - others: `proposal_expiries` (proposals), `schedule_runs` (schedules), `tool_listings` (tool servers),
      `webhook_deliveries`, `scratch_notes` that nobody has edited for a long time, `notifications` (preferences of a member),
      `review_webhooks` (webhooks that have not been sent a review yet), `bulk_decisions` with undecided proposals
    - tenants: `idempotency_records` with results that have expired
    """
    return due_work_of_kinds(kind)[kind]


def due_work_of_kinds(*kinds: str) -> dict[str, list[tuple[int, int]]]:
    """Return the due rows of several kinds in one query, which does not read other kinds."""
    due: dict[str, list[tuple[int, int]]] = {kind: [] for kind in kinds}
    with connection.cursor() as cursor:
        cursor.execute("SELECT kind, tenant_id, row_id FROM find_due_work(%s, %s)", [ROWS_PER_KIND, list(kinds)])
        for kind, tenant_id, row_id in cursor.fetchall():
            due[kind].append((int(tenant_id), int(row_id)))
    return due


@dataclass(frozen=True, slots=True)
class WaitingWork:
    """The due rows of a kind in one tenant: the number, the oldest, and whether the budget is reserved for replies (`held`)."""

    count: int
    since: datetime | None
    held: bool


def waiting_work(*kinds: str) -> dict[str, WaitingWork]:
    """Return the pending work in the tenant of the transaction, with one index scan for each kind."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT kind, row_count, oldest_due_at, is_budget_reserved FROM count_due_work(%s)", [list(kinds)]
        )
        return {str(kind): WaitingWork(int(count), since, bool(held)) for kind, count, since, held in cursor.fetchall()}
