"""What an approval asks of the database, and what its records say; the same from every page."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord, Proposal
from apps.governance.policy.policy_table import Act
from apps.review.skill_actions import approve_skill
from apps.skills.models import Skill
from apps.skills.proposals import propose_revision, submission_of
from tests.support.factories.approvals import approve_as_read
from tests.support.worlds.world import World, make_skill, make_world

pytestmark = pytest.mark.django_db

REASON = "Read with the team."


@pytest.fixture
def world() -> World:
    return make_world()


def waiting_proposal(skill: Skill, actor: Actor) -> Proposal:
    with acting_as(actor):
        found = submission_of(skill, actor)
    assert found is not None
    return found


def approve_on_skill_page(world: World) -> Skill:
    skill = make_skill(world)
    approve_skill(skill, actor=world.operator, reviewed_sha256=skill.content_sha256, reason=REASON)
    return skill


def approve_in_inbox(world: World) -> Skill:
    skill = make_skill(world)
    approve_as_read(waiting_proposal(skill, world.operator), world.operator, confirmed=REASON)
    return skill


def acts_and_reasons(skill: Skill, actor: Actor) -> list[tuple[str, str]]:
    with acting_as(actor):
        records = ChangeRecord.objects.filter(tenant_id=actor.tenant_id).select_related("text").order_by("id")
        return [
            (record.act, record.text.reason) for record in records if "approve" in record.act or "apply" in record.act
        ]


@pytest.mark.parametrize("approve", [approve_on_skill_page, approve_in_inbox])
def test_an_approval_leaves_the_same_records_with_the_reviewers_reason(
    world: World, approve: Callable[[World], Skill]
) -> None:
    # R107
    skill = approve(world)
    acts = [Act.PROPOSAL_APPROVE, Act.SKILL_APPROVE, Act.PROPOSAL_APPLY]
    assert acts_and_reasons(skill, world.operator) == [(act.value, REASON) for act in acts]


def test_a_change_that_was_approved_without_a_reason_names_its_proposal(world: World) -> None:
    skill = make_skill(world)
    proposal = waiting_proposal(skill, world.operator)
    approve_as_read(proposal, world.operator)
    assert (Act.SKILL_APPROVE.value, f"Applies proposal {proposal.pk}.") in acts_and_reasons(skill, world.operator)


def test_an_approval_costs_no_more_statements_than_before_there_was_one_way(world: World) -> None:
    # A yes on the page of a skill and one in the inbox took 46 statements each, one to a revision 44.
    skill, other = make_skill(world), make_skill(world, name="other")
    with CaptureQueriesContext(connection) as on_page:
        approve_skill(skill, actor=world.operator, reviewed_sha256=skill.content_sha256)
    submission = waiting_proposal(other, world.operator)
    with CaptureQueriesContext(connection) as in_inbox:
        approve_as_read(submission, world.operator)
    revision = propose_revision(skill, actor=world.bot, values={"body": f"{skill.body}\nAnd greet."})
    with CaptureQueriesContext(connection) as of_revision:
        approve_as_read(revision, world.operator)
    assert [len(on_page), len(in_inbox), len(of_revision)] == [44, 44, 42]
