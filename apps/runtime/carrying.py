"""Which sessions carried a row in their frozen prompt, read from the owners of its bytes."""

from collections.abc import Iterable

from apps.governance.acting import acting
from apps.governance.actors import Actor
from apps.runtime.models import SessionPart, SnapshotPart

# Of each row, the latest sessions; the count is of all.
SESSIONS_NAMED = 20

Owner = tuple[str, int, int]


def sessions_carrying(owners: Iterable[Owner], *, actor: Actor) -> list[int]:
    """The sessions, newest first, that carried any of these rows in the version named or a later one."""
    with acting(actor):
        parts = {part for owner in owners for part in _parts(owner, actor.tenant_id)}
        places = SessionPart.objects.filter(tenant_id=actor.tenant_id, part_id__in=sorted(parts))
        return list(places.order_by("-session_id").values_list("session_id", flat=True).distinct())


def _parts(owner: Owner, tenant_id: int) -> list[int]:
    kind, pk, since = owner
    # Containment does not look at the order within an owner, so it finds a few too many.
    named = SnapshotPart.objects.filter(tenant_id=tenant_id, segments__contains={"owners": [[kind, pk]]})
    return [
        part
        for part, segments in named.values_list("pk", "segments")
        if segments
        and any(isinstance(each, list) and each[:2] == [kind, pk] and each[2] >= since for each in segments["owners"])
    ]
