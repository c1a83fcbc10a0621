"""A tenant's change records, oldest first, and a check of its exported audit log."""

import json
from typing import Any

from apps.governance.audit.hash_chain import link_sha256, row_sha256
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import AuditLink, ChangeRecord
from tests.support.worlds.world import World


def records(world: World, subject: Any = None) -> list[ChangeRecord]:  # Any: a governed row of any noun
    with acting_as(world.operator):
        found = ChangeRecord.objects.select_related("text").order_by("id")
        if subject is not None:
            found = found.filter(subject_type=subject._meta.label_lower, subject_id=subject.pk)
        return list(found)


def is_export_complete(exported: bytes, world: World) -> bool:
    """Return whether the lines are the tenant's whole audit log, without the texts of changes, and every hash is right."""
    lines = [json.loads(line) for line in exported.decode().splitlines()]
    with acting_as(world.operator):
        count = AuditLink.objects.filter(tenant_id=world.tenant.pk).count()
    return len(lines) == count and all(
        row_sha256(line["entry"]) == line["link"]["entry_sha256"]
        and link_sha256(line["link"]) == line["link"]["sha256"]
        and (line["link"]["tenant_id"], "text" in line) == (world.tenant.pk, False)
        for line in lines
    )
