"""Acts on tenants, members, agents and tokens; how a token or a login becomes an actor."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.governance.actors import Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, GovernanceError, Invalid, NotPermitted
from apps.governance.governed_write import governed
from apps.governance.policy.policy_table import Act, default_grants
from apps.tenants.actions import (
    add_member,
    amend_agent,
    create_agent,
    create_tenant,
    issue_token,
    revoke_token,
    rotate_token,
)
from apps.tenants.authentication.actor_resolution import (
    agent_of_token,
    member_by_username,
    memberships_of,
    new_tenant_actor,
    person_actor,
    system_actor_of_tenant,
    token_digest,
)
from apps.tenants.models import Agent, AgentToken, TenantSettings, User
from tests.support.database.raw_sql_as_role import BROKEN_RULE, run_and_undo
from tests.support.worlds.world import World, make_user, make_world


@pytest.fixture
def world(db: None) -> World:
    return make_world()


def test_no_key_of_an_agent_differs_from_another_by_its_case_alone(world: World) -> None:
    with pytest.raises(Invalid, match="lower-case"):
        create_agent("Support", "Support", actor=world.admin)
    columns = [field.column for field in Agent._meta.concrete_fields if not field.primary_key]
    values = ["upper(key)" if column == "key" else f'"{column}"' for column in columns]
    names = ", ".join(f'"{column}"' for column in columns)
    twin = f"INSERT INTO tenants_agent ({names}) SELECT {', '.join(values)} FROM tenants_agent"  # noqa: S608  # columns
    assert run_and_undo(world.system, twin).sqlstate == BROKEN_RULE


def test_a_tenants_key_is_unique_and_a_slug(world: World) -> None:
    with pytest.raises(Conflict, match="Choose another key"):
        create_tenant(world.tenant.key, "Again", actor=new_tenant_actor())
    with pytest.raises(Invalid, match="lower-case"):
        create_tenant("Not A Slug", "No", actor=new_tenant_actor())
    with pytest.raises(Invalid, match="no time zone Mars"):
        create_tenant("mars", "Mars", actor=new_tenant_actor(), timezone_name="Mars")
    made = create_tenant("berlin", "Berlin", actor=new_tenant_actor(), timezone_name="Europe/Berlin")
    found = system_actor_of_tenant("berlin")
    assert found is not None
    assert found.tenant_id == made.pk
    with acting_as(found):
        assert TenantSettings.objects.visible_to(found).get().timezone == "Europe/Berlin"
    assert system_actor_of_tenant("nobody") is None


def test_an_agents_token_makes_an_agent_and_nothing_more(world: World) -> None:
    # R005, R014, R015
    actor = agent_of_token(world.token)
    assert actor == world.bot
    assert (actor.role, actor.agent_id, actor.is_person) == (Role.AGENT, world.agent.pk, False)
    assert actor.grants == default_grants(Role.AGENT)


@pytest.mark.parametrize("token", ["", "pcp_", "pcp_0_x", "a\x00b", "\ud800", "x" * 5000])
def test_a_token_nobody_issued_is_nobody(world: World, token: str) -> None:
    assert agent_of_token(token) is None
    assert agent_of_token(world.token) is not None


def test_only_the_digest_of_a_token_is_stored(world: World) -> None:
    # R015
    issued = issue_token(world.agent, actor=world.admin, name="second")
    with acting_as(world.admin):
        row = AgentToken.objects.visible_to(world.admin).get(pk=issued.row.pk)
        stored = {str(getattr(row, field.attname)) for field in row._meta.concrete_fields}
    assert row.digest == token_digest(issued.secret)
    assert not any(issued.secret in value for value in stored)
    assert issued.secret.startswith(row.prefix)


def test_a_revoked_token_is_nobodys_from_the_next_request_on(world: World) -> None:
    # R015
    issued, other = (issue_token(world.agent, actor=world.admin, name=name) for name in ("one", "two"))
    revoked_at = revoke_token(issued.row, actor=world.admin).revoked_at
    assert revoked_at is not None
    assert agent_of_token(issued.secret) is None
    assert agent_of_token(other.secret) is not None
    assert revoke_token(issued.row, actor=world.admin).revoked_at == revoked_at


def test_an_expired_token_is_nobodys(committing: str) -> None:
    # R015
    world = make_world()
    eternal = issue_token(world.agent, actor=world.admin, name="eternal", valid_days=None)
    assert eternal.row.expires_at is None
    assert agent_of_token(eternal.secret) is not None
    ending = issue_token(world.agent, actor=world.admin, name="ending")
    rotate_token(ending.row, actor=world.admin, grace_hours=0)
    assert agent_of_token(ending.secret) is None


def test_a_rotated_token_goes_on_for_its_grace_beside_the_new_one(world: World) -> None:
    # R015
    old = issue_token(world.agent, actor=world.admin, name="bot", valid_days=None)
    new = rotate_token(old.row, actor=world.admin, grace_hours=2)
    assert new.row.name == "bot"
    assert agent_of_token(old.secret) == agent_of_token(new.secret) == world.bot
    assert old.row.expires_at is not None
    assert old.row.expires_at <= timezone.now() + timedelta(hours=2)


def test_a_revoked_token_is_not_rotated_back_to_life(world: World) -> None:
    # R015
    token = revoke_token(issue_token(world.agent, actor=world.admin, name="old").row, actor=world.admin)
    with pytest.raises(Conflict, match="revoked"):
        rotate_token(token, actor=world.admin)


def test_a_token_remembers_when_it_was_used_and_its_version_does_not_move(world: World) -> None:
    agent_of_token(world.token)
    with acting_as(world.admin):
        row = AgentToken.objects.visible_to(world.admin).get()
    assert row.last_used_at is not None
    assert row.version == 1


def test_tokens_are_an_admins_business(world: World) -> None:
    # R015
    for actor in (world.operator, world.bot):
        with pytest.raises(NotPermitted):
            issue_token(world.agent, actor=actor, name="mine")


@pytest.mark.parametrize("right", ["is_staff", "is_superuser"])
def test_the_database_refuses_a_service_user_with_an_operators_rights(world: World, right: str) -> None:
    # R016
    user = User.objects.get(pk=world.agent.service_user_id)
    setattr(user, right, True)
    with pytest.raises(IntegrityError, match="service_user_is_neither"), transaction.atomic():
        user.save()
    person = make_user("person@example.org")
    setattr(person, right, True)
    person.save()


def test_a_service_user_is_no_member_and_no_agent_acts_as_a_person(world: World) -> None:
    # R015, R016
    service_user = User.objects.get(pk=world.agent.service_user_id)
    for role in (Role.OPERATOR, Role.ADMIN):
        with pytest.raises(GovernanceError):
            add_member(service_user, actor=world.admin, role=role)
    assert memberships_of(service_user.pk) == []
    assert add_member(make_user("new@example.org"), actor=world.admin, role=Role.OPERATOR).pk
    impostor = Agent(tenant_id=world.tenant.pk, key="x", title="X", service_user=world.operator_user)
    with pytest.raises(NotPermitted), governed(Act.AGENT_CREATE, impostor, actor=world.admin):
        pass


def test_a_service_user_never_signs_in(world: World) -> None:
    # R015
    assert not User.objects.get(pk=world.agent.service_user_id).has_usable_password()
    assert member_by_username(f"agent:{world.tenant.pk}:support", world.tenant.pk) is None


def test_an_agents_key_is_unique_in_its_tenant(world: World) -> None:
    # R008, R010
    with pytest.raises(Conflict):
        create_agent("support", "Again", actor=world.admin)
    with pytest.raises(Invalid, match="lower-case"):
        create_agent("Not A Slug", "No", actor=world.admin)
    assert create_agent("sales", "Sales", actor=world.admin).pk
    with acting_as(world.admin):
        assert Agent.objects.visible_to(world.admin).count() == 2


def test_an_admin_changes_how_an_agent_runs(world: World) -> None:
    # R002, R131
    agent = amend_agent(world.agent, actor=world.admin, model="claude-x", has_learning=False, read_at=1)
    assert (agent.model, agent.has_learning, agent.version) == ("claude-x", False, 2)
    with pytest.raises(NotPermitted):
        amend_agent(world.agent, actor=world.operator, has_learning=True)
    with pytest.raises(NotPermitted, match="does not change"):
        amend_agent(world.agent, actor=world.admin, key="other")
    with pytest.raises(Invalid):
        amend_agent(world.agent, actor=world.admin, max_steps=0)


def test_a_member_is_a_member_once_with_a_role_in_each_tenant(world: World) -> None:
    # R006
    other = make_world()
    add_member(world.operator_user, actor=other.admin, role=Role.ADMIN)
    assert memberships_of(world.operator_user.pk) == [(world.tenant.pk, Role.OPERATOR), (other.tenant.pk, Role.ADMIN)]
    with pytest.raises(Conflict, match="member of the tenant already"):
        add_member(world.operator_user, actor=world.admin, role=Role.ADMIN)
    for role in (Role.AGENT, Role.SYSTEM):
        with pytest.raises(Invalid):
            add_member(make_user(f"{role}@example.org"), actor=world.admin, role=role)


def test_a_person_is_named_for_a_tenant_they_belong_to(world: World) -> None:
    # R006
    name = world.operator_user.username
    assert member_by_username(name, world.tenant.pk) == world.operator
    assert member_by_username(name, make_world().tenant.pk) is None
    assert member_by_username("nobody", world.tenant.pk) is None
    User.objects.filter(pk=world.operator_user.pk).update(is_active=False)
    assert member_by_username(name, world.tenant.pk) is None


def test_a_person_acts_with_the_grants_of_its_role(world: World) -> None:
    # R015
    for role in (Role.OPERATOR, Role.ADMIN):
        actor = person_actor(world.operator_user.pk, world.tenant.pk, role)
        assert actor.grants == default_grants(role)
        assert actor.is_person


@pytest.mark.parametrize("key", ["a\x00b", "Not A Slug", ""])
def test_an_agent_key_that_is_no_slug_is_refused_before_anything_is_written(world: World, key: str) -> None:
    with pytest.raises(Invalid, match="This key is not valid"):
        create_agent(key, "Agent", actor=world.admin)
    with acting_as(world.admin):
        assert Agent.objects.visible_to(world.admin).count() == 1
