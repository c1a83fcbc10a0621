"""How acts are tried on learning versions, on clusters of edits, and on examples."""

from collections.abc import Mapping

from apps.governance.database.actor_transaction import acting
from apps.governance.policy.table import Act
from apps.learning.lessons.actions import (
    activate_version,
    apply_version,
    dismiss_cluster,
    prune_version,
    reject_version,
    reopen_cluster,
    restore_version,
    retire_example,
    retire_version,
    withdraw_version,
)
from apps.learning.lessons.edit_cluster_proposals import propose_habit
from apps.learning.lessons.example_bank import keep_as_example
from apps.learning.lessons.models import EditCluster, Example, LearningVersion, Lesson
from tests.random_acts.act_choice import Chosen, Deed, amending, saying
from tests.random_acts.two_tenants import NothingToDo
from tests.support.factories.lessons import find, propose


def _propose(chosen: Chosen) -> object:
    return propose(chosen.agent.pk, chosen.actor, f"- {chosen.words}")


def _apply(chosen: Chosen) -> object:
    return apply_version(chosen.row(LearningVersion), actor=chosen.actor)


def _prune(chosen: Chosen) -> object:
    return prune_version(chosen.row(LearningVersion), actor=chosen.actor)


def _find(chosen: Chosen) -> object:
    return find(chosen.agent.pk, chosen.actor)


def _dismiss(chosen: Chosen) -> object:
    return dismiss_cluster(chosen.row(EditCluster), actor=chosen.actor, reason=chosen.words)


def _keep(chosen: Chosen) -> object:
    chosen.is_crossed |= chosen.there is not chosen.mine
    with acting(chosen.there.world.operator):
        lessons = list(Lesson.objects.filter(tenant_id=chosen.there.tenant_id).order_by("pk"))
    if not lessons:
        raise NothingToDo(Lesson.__name__)
    lesson = lessons[chosen.pick % len(lessons)]
    return keep_as_example(lesson, actor=chosen.actor, words={"correction": chosen.words})


VERSIONS: Mapping[Act, Deed] = {
    Act.LEARNING_VERSION_PROPOSE: _propose,
    Act.LEARNING_VERSION_APPLY: _apply,
    Act.LEARNING_VERSION_ACTIVATE: amending(LearningVersion, activate_version),
    Act.LEARNING_VERSION_REJECT: amending(LearningVersion, reject_version),
    Act.LEARNING_VERSION_RETIRE: amending(LearningVersion, retire_version),
    Act.LEARNING_VERSION_RESTORE: amending(LearningVersion, restore_version),
    Act.LEARNING_VERSION_WITHDRAW: saying(LearningVersion, withdraw_version, "reason"),
    Act.LEARNING_VERSION_PRUNE: _prune,
    Act.EDIT_CLUSTER_FIND: _find,
    Act.EDIT_CLUSTER_PROPOSE: amending(EditCluster, propose_habit),
    Act.EDIT_CLUSTER_DISMISS: _dismiss,
    Act.EDIT_CLUSTER_REOPEN: amending(EditCluster, reopen_cluster),
    Act.EXAMPLE_ADD: _keep,
    Act.EXAMPLE_RETIRE: amending(Example, retire_example),
}
