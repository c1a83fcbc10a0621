"""PostgreSQL's half of a review: no statement of any role applies, approves or lowers what people have to agree on."""

import pytest
from django.db import connection

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Approval, Proposal
from apps.skills.proposals import propose_revision
from tests.support.database.raw_sql_as_role import BROKEN_RULE, NO_RIGHT, run_and_undo
from tests.support.factories.approvals import approve_as_read
from tests.support.worlds.world import World, make_profile, make_skill, make_world

pytestmark = pytest.mark.django_db

REFUND_BODY = {"body": "Call refund_order."}
APPROVE = (
    "INSERT INTO governance_approval (tenant_id, proposal_id, user_id, user_label, content_sha256, is_edited, is_self_approval,"
    " confirmed_findings, reason, created_at) SELECT tenant_id, id, %s, 'me', {sha}, false, false, '[]', '', now()"
    " FROM governance_proposal WHERE id = %s"
)


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def paying(world: World) -> Proposal:
    return propose_revision(make_skill(world, "approved"), actor=world.bot, values=REFUND_BODY)


def approve(actor: Actor, proposal: Proposal, user_id: int, sha: str = "content_sha256") -> str:
    return run_and_undo(actor, APPROVE.format(sha=sha), [user_id, proposal.pk]).sqlstate


def run_sql(actor: Actor, statement: str, row_id: int) -> None:
    with acting_as(actor), connection.cursor() as cursor:
        cursor.execute(statement, [row_id])


def test_nothing_is_applied_without_the_approvals_of_its_tier(world: World, paying: Proposal) -> None:
    apply = "UPDATE governance_proposal SET state = 'applied', decided_by = 'me' WHERE id = %s"
    assert run_and_undo(world.operator, apply, [paying.pk]).sqlstate == BROKEN_RULE
    approve_as_read(paying, world.operator)
    assert run_and_undo(world.operator, apply, [paying.pk]).sqlstate == BROKEN_RULE


def test_an_approval_is_of_what_stands_there_and_of_somebody_elses_words(world: World, paying: Proposal) -> None:
    assert approve(world.operator, paying, 99, "'other bytes'") == BROKEN_RULE
    assert approve(world.operator, paying, world.agent.service_user_id) == BROKEN_RULE
    assert approve(world.bot, paying, 99) == NO_RIGHT
    assert approve(world.system, paying, 99) == NO_RIGHT
    assert approve(world.operator, paying, world.operator_user.pk) == ""


def test_an_approval_is_neither_changed_nor_removed(world: World, paying: Proposal) -> None:
    approve_as_read(paying, world.operator)
    for statement in ("UPDATE governance_approval SET reason = 'x'", "DELETE FROM governance_approval"):
        assert run_and_undo(world.operator, statement).sqlstate in {BROKEN_RULE, NO_RIGHT}


def test_an_agent_lowers_no_tier_and_its_words_void_what_was_approved(world: World, paying: Proposal) -> None:
    lower = "UPDATE governance_proposal SET risk = 'low' WHERE id = %s"
    assert run_and_undo(world.bot, lower, [paying.pk]).sqlstate == NO_RIGHT
    approve_as_read(paying, world.operator)
    run_sql(world.bot, "UPDATE governance_proposal SET rationale = 'x' WHERE id = %s", paying.pk)
    with acting_as(world.operator):
        assert Proposal.objects.get(pk=paying.pk).approval_count == 0
    assert run_and_undo(world.bot, "SELECT 1 FROM governance_approval").sqlstate == NO_RIGHT


def test_the_worker_expires_what_is_late_and_nothing_else(world: World, paying: Proposal) -> None:
    expire = "UPDATE governance_proposal SET state = 'expired', decided_by = 'system' WHERE id = %s"
    assert run_and_undo(world.system, expire, [paying.pk]).sqlstate == NO_RIGHT


def test_a_skill_is_approved_in_reviewed_words_or_not_at_all(world: World) -> None:
    # R018, R094
    skill = make_skill(world)
    approve_it = "UPDATE skills_skill SET status = 'approved', approved_by = 'me', approved_sha256 = content_sha256 WHERE id = %s"
    assert run_and_undo(world.operator, approve_it, [skill.pk]).sqlstate == BROKEN_RULE


def test_a_skill_is_taken_back_within_the_minute_alone(world: World) -> None:
    # R092
    skill = make_skill(world, "approved")
    take_back = "UPDATE skills_skill SET status = 'draft', approved_by = '', approved_sha256 = '' WHERE id = %s"
    assert run_and_undo(world.operator, take_back, [skill.pk]).passed
    older = "UPDATE skills_skill SET approved_at = approved_at - interval '2 minutes' WHERE id = %s"
    run_sql(world.operator, older, skill.pk)
    assert run_and_undo(world.operator, take_back, [skill.pk]).sqlstate == BROKEN_RULE


def test_an_agent_sees_proposals_on_the_profile_of_the_customer_it_serves_and_no_other(world: World) -> None:
    # R006, R007
    profile = make_profile(world, "http:abc123")
    insert = (
        "INSERT INTO governance_proposal (tenant_id, agent_id, kind, target_type, target_id, target_label, base_version,"
        " base_sha256, base_content, content, edited_by, content_sha256, risk, rationale, evidence, support_count, proposed_by,"
        " proposers, state, round, claimed_by, revision_request, approval_count, replaced_values, decided_by, decision_reason,"
        " reason_code, quarantine_reason, version, taint, created_at, updated_at) VALUES (%s, %s, 'profile.change',"
        " 'memory.customerprofile', %s, 'x', 1, '', '{}', '{}', '', '', 'low', '', '{}', 1, 'x', '[]', 'open', 1, '', '', 0,"
        " '{}', '', '', '', '', 1, 'agent', now(), now()) RETURNING id"
    )
    values = [world.tenant.pk, world.agent.pk, profile.pk]
    assert run_and_undo(world.bot.serving("http:abc123"), insert, values).passed
    assert run_and_undo(world.bot.serving("http:other"), insert, values).sqlstate == NO_RIGHT


def test_the_journal_says_who_agreed_to_what(world: World, paying: Proposal) -> None:
    approve_as_read(paying, world.operator)
    approve_as_read(paying, world.admin)
    with acting_as(world.operator):
        rows = Approval.objects.filter(proposal=paying)
        assert [row.user_id for row in rows] == [world.operator.user_id, world.admin.user_id]
        assert {row.content_sha256 for row in rows} == {paying.content_sha256}
