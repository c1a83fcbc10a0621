"""The other learning versions of an agent that repeat bullets of one version, and the withdrawn bullets in a version."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from apps.learning.lessons.models import LearningVersion
from apps.learning.lessons.shared_bullets import SharedBullet, find_shared_bullets

Status = LearningVersion.Status
# The evidence of a change record: the version with which this one was withdrawn or rejected.
WITHDRAWN_WITH: Final = "withdrawn_with_version_id"


@dataclass(frozen=True, slots=True)
class VersionCopy:
    """A version that shares bullets with another one: either side of a withdrawal."""

    version: LearningVersion
    shared: tuple[SharedBullet, ...]


def versions_of_agents(agent_ids: Iterable[int]) -> dict[int, list[LearningVersion]]:
    """Return all versions of each agent, oldest first, in one query. The caller acts as a person or the system."""
    found: dict[int, list[LearningVersion]] = defaultdict(list)
    for row in LearningVersion.objects.filter(agent__in=agent_ids).order_by("number"):
        found[row.agent_id].append(row)
    return found


def copies_of(version: LearningVersion, others: Iterable[LearningVersion]) -> list[VersionCopy]:
    """Return the versions that agents read or could read, and that repeat a bullet of this version.

    A version that no conversation ever read has no copies, because it cannot be withdrawn.
    """
    if version.status in {Status.PENDING, Status.REJECTED}:
        return []
    found = (
        VersionCopy(each, find_shared_bullets(version.body, each.body))
        for each in others
        if each.pk != version.pk and each.is_usable
    )
    return [copy for copy in found if copy.shared]


def withdrawn_bullets_in(version: LearningVersion, others: Iterable[LearningVersion]) -> list[VersionCopy]:
    """Return the withdrawn versions of which this version, which agents read or could read, repeats a bullet."""
    if not version.is_usable:
        return []
    found = (
        VersionCopy(each, find_shared_bullets(each.body, version.body))
        for each in others
        if each.status == Status.WITHDRAWN
    )
    return [copy for copy in found if copy.shared]
