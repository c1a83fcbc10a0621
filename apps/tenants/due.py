"""What waits in the database, across tenants: ids only, through the one function that may look."""

from dataclasses import dataclass
from datetime import datetime

from django.db import connection

BATCH = 200


def due_work(kind: str) -> list[tuple[int, int]]:
    """(tenant id, row id) of what waits. What the row ids of a kind are:

    - conversations: `turn`, `extraction`, `forget` what was off the record, `question` those in which a paused agent was asked
    - agents: `lesson` with something settled that no lesson was made of, `digest` with lessons that no digest has read,
      `reflection` whose day is over, `contradiction` whose lines no look went through tonight, `distillation` with a tier due
    - others: `expiry` proposals, `schedule` schedules, `listing` tool servers, `delivery` what webhooks are to be told,
      `scratch` notes nobody touched for long, `notice` what people want to be told of,
      `review` webhooks that were not told of one, `bulk` decisions taken together that have something left
    - tenants: `answer` with answers of the API that were kept long enough
    """
    return due_works(kind)[kind]


def due_works(*kinds: str) -> dict[str, list[tuple[int, int]]]:
    """The same of several kinds in one look, which walks no others."""
    due: dict[str, list[tuple[int, int]]] = {kind: [] for kind in kinds}
    with connection.cursor() as cursor:
        cursor.execute("SELECT kind, tenant_id, row_id FROM due_work(%s, %s)", [BATCH, list(kinds)])
        for kind, tenant_id, row_id in cursor.fetchall():
            due[kind].append((int(tenant_id), int(row_id)))
    return due


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many rows of a kind wait in one tenant, and since when the first; `held` while its money is kept for replies."""

    count: int
    since: datetime | None
    held: bool


def waiting_work(*kinds: str) -> dict[str, Waiting]:
    """What waits for a worker in the tenant of the transaction, one walk for each kind."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT kind, waiting, since, held FROM waiting_work(%s)", [list(kinds)])
        return {str(kind): Waiting(int(count), since, bool(held)) for kind, count, since, held in cursor.fetchall()}
