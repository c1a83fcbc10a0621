"""The only writer of lessons, their cases, and the cases of clusters; each case counts once even if it is reported again."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models.functions import Now

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as, lock_name
from apps.learning.lessons.lesson_cases import Case, LessonText
from apps.learning.lessons.models import EditCluster, EditClusterCase, LearningVersion, Lesson, LessonCase
from apps.learning.lessons.rules import (
    FIRST_CONFIDENCE,
    LessonSource,
    add_case,
    dedup_key,
    discard_dedup_key,
    edit_dedup_key,
)

_DEDUP_KEY_FUNCTIONS: Final = {
    LessonSource.EDITED_DRAFT: edit_dedup_key,
    LessonSource.DISCARDED_DRAFT: discard_dedup_key,
}


@dataclass(frozen=True, slots=True)
class CaseSource:
    """The source of a case (a draft, an escalation, a turn or a proposal), and when it was settled."""

    source: LessonSource
    source_id: int
    agent_id: int
    conversation_id: int | None
    at: datetime


def lock_lessons(agent_id: int) -> None:
    """Lock an agent's lessons until the transaction ends, so that no other process writes them or reads them as a whole."""
    lock_name(f"lessons of agent {agent_id}")


def record_case(found: CaseSource, case: Case, *, actor: Actor) -> LessonCase | None:
    """Record the case and count it for its lesson in one commit; None if the case was already recorded."""
    with acting_as(actor):
        lock_lessons(found.agent_id)
        if LessonCase.objects.filter(source=found.source.value, source_id=found.source_id).exists():
            return None
        lesson = _count_case(found, case, actor) if isinstance(case, LessonText) else None
        return LessonCase.objects.create(
            tenant_id=actor.tenant_id,
            agent_id=found.agent_id,
            lesson=lesson,
            source=found.source.value,
            source_id=found.source_id,
            conversation_id=found.conversation_id,
            no_lesson_reason="" if isinstance(case, LessonText) else case.because,
            happened_at=found.at,
            recorded_at=Now(),
        )


def _count_case(found: CaseSource, lesson_text: LessonText, actor: Actor) -> Lesson:
    """Return the lesson with this content, after raising its confidence for one more case; the first case creates the lesson."""
    key_of = _DEDUP_KEY_FUNCTIONS.get(found.source, dedup_key)
    key = key_of(lesson_text.situation, lesson_text.problem, lesson_text.correction)
    known = Lesson.objects.filter(agent_id=found.agent_id, dedup_key=key).first()
    if known is None:
        return Lesson.objects.create(
            tenant_id=actor.tenant_id,
            agent_id=found.agent_id,
            situation=lesson_text.situation,
            problem=lesson_text.problem,
            correction=lesson_text.correction,
            source=found.source.value,
            dedup_key=key,
            confidence=FIRST_CONFIDENCE[found.source],
            last_seen_at=found.at,
            last_case_recorded_at=Now(),
        )
    again = add_case(known.value, found.source, found.at)
    known.support_count, known.confidence = again.support_count, again.confidence
    known.last_seen_at, known.last_case_recorded_at, known.learning_version_id = again.last_seen_at, Now(), None
    known.save(
        update_fields=["support_count", "confidence", "last_seen_at", "last_case_recorded_at", "learning_version"]
    )
    return known


def mark_digested(version: LearningVersion, *, actor: Actor) -> None:
    """Mark lessons as digested, in the commit that creates the version. Only a new case offers them to a digest again."""
    with acting_as(actor):
        Lesson.objects.filter(agent_id=version.agent_id, pk__in=version.lesson_ids).update(learning_version=version)


def record_cluster_cases(cluster: EditCluster, case_ids: Collection[int], *, actor: Actor) -> int:
    """Count new cases for a cluster. Return how many were new."""
    with acting_as(actor):
        known = set(
            EditClusterCase.objects.filter(cluster=cluster, case_id__in=case_ids).values_list("case_id", flat=True)
        )
        new = sorted(set(case_ids) - known)
        EditClusterCase.objects.bulk_create(
            EditClusterCase(tenant_id=actor.tenant_id, cluster=cluster, case_id=case_id, recorded_at=Now())
            for case_id in new
        )
    return len(new)
