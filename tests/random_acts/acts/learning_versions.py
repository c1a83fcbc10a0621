"""How acts are tried on learning versions, on clusters of edits, and on examples."""

from collections.abc import Mapping

from apps.governance.database.actor_transaction import acting_as
from apps.governance.policy.policy_table import Act
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
from apps.learning.lessons.edit_cluster_proposals import propose_cluster_rule
from apps.learning.lessons.example_bank import add_lesson_example
from apps.learning.lessons.models import EditCluster, Example, LearningVersion, Lesson
from tests.random_acts.act_choice import ActChoice, ActRunner, amend_row, write_parameter
from tests.random_acts.two_tenants import NoRowForAct
from tests.support.factories.lessons import find, propose_lesson_version


def _propose(chosen: ActChoice) -> object:
    return propose_lesson_version(chosen.agent.pk, chosen.actor, f"- {chosen.words}")


def _apply(chosen: ActChoice) -> object:
    return apply_version(chosen.row(LearningVersion), actor=chosen.actor)


def _prune(chosen: ActChoice) -> object:
    return prune_version(chosen.row(LearningVersion), actor=chosen.actor)


def _find(chosen: ActChoice) -> object:
    return find(chosen.agent.pk, chosen.actor)


def _dismiss(chosen: ActChoice) -> object:
    return dismiss_cluster(chosen.row(EditCluster), actor=chosen.actor, reason=chosen.words)


def _keep_example(chosen: ActChoice) -> object:
    chosen.is_crossed |= chosen.there is not chosen.mine
    with acting_as(chosen.there.world.operator):
        lessons = list(Lesson.objects.filter(tenant_id=chosen.there.tenant_id).order_by("pk"))
    if not lessons:
        raise NoRowForAct(Lesson.__name__)
    lesson = lessons[chosen.pick % len(lessons)]
    return add_lesson_example(lesson, actor=chosen.actor, words={"correction": chosen.words})


VERSIONS: Mapping[Act, ActRunner] = {
    Act.LEARNING_VERSION_PROPOSE: _propose,
    Act.LEARNING_VERSION_APPLY: _apply,
    Act.LEARNING_VERSION_ACTIVATE: amend_row(LearningVersion, activate_version),
    Act.LEARNING_VERSION_REJECT: amend_row(LearningVersion, reject_version),
    Act.LEARNING_VERSION_RETIRE: amend_row(LearningVersion, retire_version),
    Act.LEARNING_VERSION_RESTORE: amend_row(LearningVersion, restore_version),
    Act.LEARNING_VERSION_WITHDRAW: write_parameter(LearningVersion, withdraw_version, "reason"),
    Act.LEARNING_VERSION_PRUNE: _prune,
    Act.EDIT_CLUSTER_FIND: _find,
    Act.EDIT_CLUSTER_PROPOSE: amend_row(EditCluster, propose_cluster_rule),
    Act.EDIT_CLUSTER_DISMISS: _dismiss,
    Act.EDIT_CLUSTER_REOPEN: amend_row(EditCluster, reopen_cluster),
    Act.EXAMPLE_ADD: _keep_example,
    Act.EXAMPLE_RETIRE: amend_row(Example, retire_example),
}
