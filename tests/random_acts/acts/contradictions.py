"""How acts are tried on contradictions."""

from collections.abc import Mapping

from django.utils import timezone

from apps.governance.policy.table import Act
from apps.learning.contradictions.actions import (
    clear_contradiction,
    dismiss_contradiction,
    find_contradiction,
    reopen_contradiction,
    return_contradiction,
)
from apps.learning.contradictions.models import Contradiction
from apps.learning.contradictions.rules import Pair, Side
from apps.learning.contradictions.scan_runs import ask_for_look
from tests.random_acts.act_choice import Chosen, Deed, amending


def _look(chosen: Chosen) -> object:
    ask_for_look(chosen.agent.pk, actor=chosen.actor)
    return None


def _find(chosen: Chosen) -> object:
    agent = chosen.agent
    one, other = (Side("memory", agent.pk, "the memory", chosen.words) for _ in range(2))
    return find_contradiction(agent.pk, actor=chosen.actor, pair=Pair("opposite", "words", one, other))


def _return(chosen: Chosen) -> object:
    return return_contradiction(chosen.row(Contradiction), actor=chosen.actor)


def _clear(chosen: Chosen) -> object:
    return clear_contradiction(chosen.row(Contradiction), actor=chosen.actor, last_seen_at=timezone.now())


def _dismiss(chosen: Chosen) -> object:
    row = chosen.row(Contradiction)
    return dismiss_contradiction(row, actor=chosen.actor, dismissal_reason=chosen.words, read_at=chosen.read_at(row))


CONTRADICTIONS: Mapping[Act, Deed] = {
    Act.CONTRADICTION_SCAN: _look,
    Act.CONTRADICTION_FIND: _find,
    Act.CONTRADICTION_RECUR: _return,
    Act.CONTRADICTION_CLEAR: _clear,
    Act.CONTRADICTION_DISMISS: _dismiss,
    Act.CONTRADICTION_REOPEN: amending(Contradiction, reopen_contradiction),
}
