"""The conditions by which queues find proposals: open, waiting and expired, by the date and not by the last sweep."""

import pytest
from django.utils import timezone

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal
from apps.governance.models.proposals import expired_condition, open_condition, waiting_condition
from apps.personas.actions import propose_rules
from tests.support.factories.expired_proposals import let_run_out
from tests.support.worlds.world import World, make_world

pytestmark = [pytest.mark.kernel, pytest.mark.django_db]


def matching(world: World, proposal: Proposal) -> list[str]:
    now = timezone.now()
    conditions = {"open": open_condition(now), "waiting": waiting_condition(now), "expired": expired_condition(now)}
    with acting_as(world.operator):
        rows = Proposal.objects.visible_to(world.operator).filter(pk=proposal.pk)
        return [name for name, condition in conditions.items() if rows.filter(condition).exists()]


def test_a_proposal_is_expired_from_its_date_on_and_no_longer_open() -> None:
    world = make_world()
    proposal = propose_rules(world.agent, actor=world.bot, lines=["Call back."])
    assert matching(world, proposal) == ["open", "waiting"]
    let_run_out(proposal, world)
    assert matching(world, proposal) == ["expired"]
