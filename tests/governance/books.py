"""A tenant's change records, oldest first."""

from typing import Any

from apps.governance.acting import acting
from apps.governance.models import ChangeRecord
from tests.factories import World


def records(world: World, subject: Any = None) -> list[ChangeRecord]:  # Any: a governed row of any noun
    with acting(world.operator):
        found = ChangeRecord.objects.select_related("text").order_by("id")
        if subject is not None:
            found = found.filter(subject_type=subject._meta.label_lower, subject_id=subject.pk)
        return list(found)
