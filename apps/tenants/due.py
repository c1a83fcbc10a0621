"""What waits in the database, across tenants: ids only, through the one function that may look."""

from django.db import connection

BATCH = 200


def due_work(kind: str) -> list[tuple[int, int]]:
    """(tenant id, row id) of what waits: `turn` gives conversations, `extraction` resolved ones, `expiry` proposals, `schedule`
    schedules."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tenant_id, row_id FROM due_work(%s) WHERE kind = %s", [BATCH, kind])
        return [(int(tenant_id), int(row_id)) for tenant_id, row_id in cursor.fetchall()]
