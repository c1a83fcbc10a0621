"""Which sessions carried a row in their frozen prompt, read from the owners of its bytes."""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from django.db import connection

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting
from apps.runtime.models import SessionPart

# Of each row, the latest sessions; the count is of all.
SESSIONS_NAMED = 20
# An integer of PostgreSQL, for who wants all of them.
ALL: Final = 2**31 - 1

Owner = tuple[str, int, int]

_PARTS: Final = "SELECT part_id, versions FROM find_parts_with_record(%(kind)s, %(record)s, %(most)s)"


def sessions_carrying(owners: Iterable[Owner], *, actor: Actor) -> list[int]:
    """The sessions, newest first, that carried any of these rows in the version named or a later one."""
    with acting(actor):
        parts = {
            part
            for kind, pk, since in owners
            for part, versions in parts_carrying(kind, pk, ALL).items()
            if max(versions) >= since
        }
        places = SessionPart.objects.filter(tenant_id=actor.tenant_id, part_id__in=sorted(parts))
        return list(places.order_by("-session_id").values_list("session_id", flat=True).distinct())


def parts_carrying(kind: str, record_id: int, most: int) -> Mapping[int, Collection[int]]:
    """The latest parts with words of a row, and the versions these are of. Whoever calls acts as a person or the house."""
    with connection.cursor() as cursor:
        cursor.execute(_PARTS, {"kind": kind, "record": record_id, "most": most})
        return {int(part): tuple(map(int, versions)) for part, versions in cursor.fetchall()}
