"""Grants that differ by agent, and what a member is confined to."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.governance.actors import ANYWHERE, Actor, Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, Invalid, NotPermitted
from apps.governance.governed_write import authorize, may
from apps.governance.models import ChangeRecord
from apps.governance.policy.policy_table import Act, codename, default_grants
from apps.memory.actions import amend_memory, amend_profile
from apps.restore.plan import MomentTarget, make_restore_plan
from apps.review.skill_actions import approve_skill
from apps.skills.actions import draft_skill
from apps.skills.models import Skill
from apps.tenants.actions import limit_member, unlimit_member, withdraw_grants, write_grants
from apps.tenants.authentication.actor_resolution import agent_actor, agent_of_token, person_actor
from apps.tenants.models.grants import AgentGrants, AgentGroupObjectPermission, AgentUserObjectPermission, MemberLimit
from tests.support.worlds.world import (
    World,
    make_grants,
    make_limit,
    make_memory,
    make_neighbour,
    make_profile,
    make_skill,
    make_world,
    member_of,
)

pytestmark = [pytest.mark.kernel, pytest.mark.django_db]

RUNBOOK = {"title": "Greet", "description": "How to greet.", "body": "Say hello."}


@pytest.fixture
def world() -> World:
    return make_world()


def operator(world: World) -> Actor:
    """The operator as the next request finds them."""
    return person_actor(world.operator_user.pk, world.tenant.pk, Role.OPERATOR)


def bot(world: World) -> Actor:
    """The agent as its next request finds it."""
    return agent_actor(world.tenant.pk, world.agent.pk, world.agent.service_user_id, world.agent.key)


def skill_of(world: World, agent_id: int) -> Skill:
    return draft_skill(agent_id, actor=world.admin, values=RUNBOOK)


def approve(skill: Skill, actor: Actor) -> Skill:
    approve_skill(skill, actor=actor, reviewed_sha256=skill.content_sha256)
    return skill


def test_an_operator_may_be_confined_to_the_skills_of_billing_only(world: World) -> None:
    # R015, R017
    billing = make_neighbour(world)
    make_limit(world, agents=[billing.pk])
    confined = operator(world)
    mine, other = skill_of(world, billing.pk), skill_of(world, world.agent.pk)
    with pytest.raises(NotPermitted, match="for other agents' rows, not for this one"):
        approve(other, confined)
    assert approve(mine, confined).status == Skill.Status.APPROVED
    assert may(confined, Act.SKILL_APPROVE)
    assert may(confined, Act.SKILL_APPROVE, row=mine)
    assert not may(confined, Act.SKILL_APPROVE, row=other)
    assert approve(other, world.admin).status == Skill.Status.APPROVED


def test_a_limit_reaches_neither_agents_made_later_nor_rows_of_the_whole_tenant(world: World) -> None:
    # R017: fails closed
    make_limit(world, Act.RULE_ADD, agents=[world.agent.pk])
    confined = operator(world)
    later = make_neighbour(world)
    for place in (later.pk, None):
        with pytest.raises(NotPermitted):
            authorize(confined, Act.RULE_ADD, world.tenant.pk, agent_id=place)
    authorize(confined, Act.RULE_ADD, world.tenant.pk, agent_id=world.agent.pk)
    authorize(confined, Act.RULE_ADD, world.tenant.pk, agent_id=ANYWHERE)


def test_a_limit_without_agents_means_nowhere(world: World) -> None:
    # R017
    make_limit(world)
    confined = operator(world)
    assert not may(confined, Act.SKILL_APPROVE)
    with pytest.raises(NotPermitted, match="lacks the grant"):
        approve(make_skill(world), confined)
    assert may(confined, Act.SKILL_DEPRECATE)


def test_a_limit_taken_back_opens_the_act_again(world: World) -> None:
    limit = make_limit(world)
    unlimit_member(limit, actor=world.admin)
    assert operator(world) == world.operator
    with acting_as(world.admin):
        assert not AgentUserObjectPermission.objects.exists()
        acts = list(ChangeRecord.objects.order_by("id").values_list("act", flat=True))[-2:]
    assert acts == ["limit.write", "limit.lift"]


def test_a_limit_never_widens(world: World) -> None:
    # R016: what the role does not hold on that agent, no limit gives.
    make_grants(world, codename(Act.SKILL_APPROVE), role=Role.OPERATOR)
    make_limit(world, agents=[world.agent.pk])
    assert not may(operator(world), Act.SKILL_APPROVE)


def test_a_limit_is_written_once_and_changed_after(world: World) -> None:
    limit = make_limit(world)
    with pytest.raises(Conflict, match="has a limit for this act already"):
        make_limit(world)
    limit_member(limit, actor=world.admin, agents=[world.agent.pk], read_at=limit.version)
    assert may(operator(world), Act.SKILL_APPROVE)


@pytest.mark.parametrize("act", ["settings.amend", "no.such"])
def test_only_what_operators_may_do_can_be_limited(world: World, act: str) -> None:
    member = member_of(world, world.operator_user)
    limit = MemberLimit(tenant_id=world.tenant.pk, member=member, limited_act=act)
    with pytest.raises(Invalid, match="not an act of operators"):
        limit_member(limit, actor=world.admin, agents=[])


def test_no_limit_names_an_agent_of_another_tenant(world: World) -> None:
    # R006
    with pytest.raises(Invalid, match="no such agent"):
        make_limit(world, agents=[make_world().agent.pk])


def test_an_agent_may_be_kept_from_amending_profiles(world: World) -> None:
    # R015, R024
    make_grants(world, codename(Act.PROFILE_AMEND, "notes"))
    narrowed = bot(world)
    profile = make_profile(world)
    with acting_as(world.admin):
        rows = set(AgentGroupObjectPermission.objects.values_list("permission__codename", flat=True))
    assert rows == default_grants(Role.AGENT) - {"profile_amend__notes"}
    assert narrowed.grants == rows
    assert amend_profile(profile, actor=narrowed, values={"preferences": "Calls."}).preferences == "Calls."
    with pytest.raises(NotPermitted, match="profile_amend__notes"):
        amend_profile(profile, actor=narrowed, values={"notes": "New."})


@pytest.mark.slow
def test_grants_of_one_agent_leave_its_neighbours_and_the_people_alone(world: World) -> None:
    make_grants(world, *default_grants(Role.AGENT))
    billing = make_neighbour(world)
    neighbour = agent_actor(world.tenant.pk, billing.pk, billing.service_user_id, billing.key)
    assert not any(may(bot(world), act) for act in Act)
    assert neighbour.grants == default_grants(Role.AGENT)
    assert operator(world) == world.operator


def test_grants_withdrawn_leave_the_role_with_what_it_holds_elsewhere(world: World) -> None:
    grants = make_grants(world, "skill_fetch")
    withdraw_grants(grants, actor=world.admin)
    assert bot(world) == world.bot
    with acting_as(world.admin):
        assert not AgentGroupObjectPermission.objects.exists()


@pytest.mark.parametrize("role", [Role.AGENT, Role.OPERATOR])
def test_no_grant_on_an_agent_lifts_the_role_floor(world: World, role: Role) -> None:
    # R016
    grants = AgentGrants(tenant_id=world.tenant.pk, agent=world.agent, role=role.value)
    with pytest.raises(Invalid, match="The role floor does not allow these permissions"):
        write_grants(grants, actor=world.admin, granted=["settings_amend"])
    lucky = replace(world.bot, grants=default_grants(Role.ADMIN))
    with pytest.raises(NotPermitted, match="An agent may not approve"):
        approve(make_skill(world), lucky)


def test_admins_have_no_grants_of_their_own_on_an_agent(world: World) -> None:
    with pytest.raises(Invalid, match="not a valid choice"):
        make_grants(world, role=Role.ADMIN)


def test_what_an_actor_holds_is_resolved_by_one_statement(world: World) -> None:
    # R015: one for the grants; the savepoint and the settings of PostgreSQL are no look-ups.
    make_grants(world, "profile_amend__notes")
    make_grants(world, role=Role.OPERATOR)
    make_limit(world, agents=[world.agent.pk])
    ways: list[Callable[[], Actor | None]] = [
        partial(operator, world),
        partial(bot, world),
    ]
    for resolve in ways:
        with CaptureQueriesContext(connection) as made:
            resolve()
        reads = [query["sql"] for query in made if "objectpermission" in query["sql"]]
        beside = ("SAVEPOINT", "RELEASE", "SELECT set_config")
        assert len(reads) == 1
        assert all(query["sql"] in reads or query["sql"].startswith(beside) for query in made)


@pytest.mark.parametrize("said_of", ["the role", "the agent", "the agent, nothing", "others"])
def test_a_token_is_looked_up_with_all_its_agent_may_do_by_one_statement(world: World, said_of: str) -> None:
    # R007, R015
    if said_of.startswith("the agent"):
        make_grants(world, *(default_grants(Role.AGENT) if "nothing" in said_of else ["profile_amend__notes"]))
    elif said_of == "others":
        make_grants(world, role=Role.OPERATOR)
        make_grants(make_world(), "skill_fetch")
    with CaptureQueriesContext(connection) as made:
        found = agent_of_token(world.token)
    assert len(made) == 1
    assert found == bot(world)
    assert (found.grants == default_grants(Role.AGENT)) == (said_of in ("the role", "others"))


def test_a_limited_member_restores_where_the_act_remains_to_them(world: World) -> None:
    memory = make_memory(world, "Lunch is at noon.")
    moment = timezone.now()
    amend_memory(memory, actor=world.operator, body="Lunch is over.")
    limit = make_limit(world, Act.MEMORY_AMEND, [make_neighbour(world).pk])
    target = MomentTarget(moment, world.agent)
    assert "memory.amend" in make_restore_plan(target, actor=operator(world)).missing_permissions
    limit_member(limit, actor=world.admin, agents=[world.agent.pk])
    assert make_restore_plan(target, actor=operator(world)).missing_permissions == ()
