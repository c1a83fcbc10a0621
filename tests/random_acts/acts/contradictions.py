"""How acts are tried on contradictions."""

from collections.abc import Mapping

from django.utils import timezone

from apps.governance.policy.policy_table import Act
from apps.learning.contradictions.actions import (
    clear_contradiction,
    dismiss_contradiction,
    mark_contradiction_recurred,
    record_contradiction,
    reopen_contradiction,
)
from apps.learning.contradictions.models import Contradiction
from apps.learning.contradictions.rules import ContradictionPair, ContradictionSide
from apps.learning.contradictions.scan_runs import request_scan
from tests.random_acts.act_choice import ActChoice, ActRunner, amend_row


def _request_scan(chosen: ActChoice) -> object:
    request_scan(chosen.agent.pk, actor=chosen.actor)
    return None


def _find(chosen: ActChoice) -> object:
    agent = chosen.agent
    one, other = (ContradictionSide("memory", agent.pk, "the memory", chosen.words) for _ in range(2))
    return record_contradiction(agent.pk, actor=chosen.actor, pair=ContradictionPair("opposite", "words", one, other))


def _return_contradiction(chosen: ActChoice) -> object:
    return mark_contradiction_recurred(chosen.row(Contradiction), actor=chosen.actor)


def _clear(chosen: ActChoice) -> object:
    return clear_contradiction(chosen.row(Contradiction), actor=chosen.actor, last_seen_at=timezone.now())


def _dismiss(chosen: ActChoice) -> object:
    row = chosen.row(Contradiction)
    return dismiss_contradiction(row, actor=chosen.actor, reason=chosen.words, read_at=chosen.read_at(row))


CONTRADICTIONS: Mapping[Act, ActRunner] = {
    Act.CONTRADICTION_SCAN: _request_scan,
    Act.CONTRADICTION_FIND: _find,
    Act.CONTRADICTION_RECUR: _return_contradiction,
    Act.CONTRADICTION_CLEAR: _clear,
    Act.CONTRADICTION_DISMISS: _dismiss,
    Act.CONTRADICTION_REOPEN: amend_row(Contradiction, reopen_contradiction),
}
