"""How acts are tried on learning versions."""

from collections.abc import Mapping

from apps.governance.policy import Act
from apps.lessons.actions import (
    activate_version,
    apply_version,
    prune_version,
    reject_version,
    restore_version,
    retire_version,
)
from apps.lessons.models import LearningVersion
from tests.machine.chosen import Chosen, Deed, amending
from tests.teaching import propose


def _propose(chosen: Chosen) -> object:
    return propose(chosen.agent.pk, chosen.actor, f"- {chosen.words}")


def _apply(chosen: Chosen) -> object:
    return apply_version(chosen.row(LearningVersion), actor=chosen.actor)


def _prune(chosen: Chosen) -> object:
    return prune_version(chosen.row(LearningVersion), actor=chosen.actor)


VERSIONS: Mapping[Act, Deed] = {
    Act.LEARNING_VERSION_PROPOSE: _propose,
    Act.LEARNING_VERSION_APPLY: _apply,
    Act.LEARNING_VERSION_ACTIVATE: amending(LearningVersion, activate_version),
    Act.LEARNING_VERSION_REJECT: amending(LearningVersion, reject_version),
    Act.LEARNING_VERSION_RETIRE: amending(LearningVersion, retire_version),
    Act.LEARNING_VERSION_RESTORE: amending(LearningVersion, restore_version),
    Act.LEARNING_VERSION_PRUNE: _prune,
}
