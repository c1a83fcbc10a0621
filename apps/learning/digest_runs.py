"""Runs of the digest, written down."""

from collections.abc import Sequence

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting
from apps.learning.digest_models import DigestRun
from apps.learning.lessons.models import LearningVersion
from apps.learning.used import used
from apps.llm.model_backend import Reply


def write_run(
    agent_id: int,
    *,
    actor: Actor,
    verdict: DigestRun.Verdict,
    reasons: Sequence[str],
    lesson_ids: Sequence[int],
    unknown_lesson_ids: Sequence[int],
    version: LearningVersion | None,
    reply: Reply | None,
) -> DigestRun:
    """Write down what came of one digest."""
    with acting(actor):
        return DigestRun.objects.create(
            tenant_id=actor.tenant_id,
            agent_id=agent_id,
            verdict=verdict,
            reasons=list(reasons),
            lesson_ids=list(lesson_ids),
            unknown_lesson_ids=list(unknown_lesson_ids),
            learning_version=version,
            **used(reply, actor=actor),
        )
