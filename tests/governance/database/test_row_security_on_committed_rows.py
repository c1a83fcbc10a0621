"""Walls that show only on rows that stand: the tables' owner, grants of a tenant's own, work that waits."""

from collections.abc import Iterable

import pytest
from django.conf import settings
from django.contrib.auth.models import Group, Permission
from django.db import connection, connections

from apps.conversations.actions import resolve_conversation
from apps.governance.actors import Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import NotPermitted
from apps.governance.policy.policy_table import default_grants
from apps.review.skill_actions import approve_skill
from apps.skills.actions import draft_skill
from apps.skills.models import Skill
from apps.tenants.authentication.actor_resolution import agent_of_token, person_actor
from apps.tenants.due_work import due_work
from apps.tenants.models import RoleTemplate, Tenant
from apps.tenants.models.grants import TenantGroupObjectPermission
from tests.support.database.catalog import tenant_tables
from tests.support.database.raw_sql_as_role import run_and_undo
from tests.support.worlds.world import (
    World,
    make_conversation,
    make_event,
    make_grants,
    make_persona,
    make_skill,
    make_world,
)


def test_the_tables_owner_sees_no_tenants_row_without_its_tenant(committing: str) -> None:
    # R012: FORCE ROW LEVEL SECURITY, seen from the role it is for.
    world = make_world()
    make_persona(world)
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT current_user")
        assert cursor.fetchone() == (f"{settings.DATABASE_ROLE_PREFIX}_owner",)
        for tenant, seen in (("", 0), (str(world.tenant.pk), 1)):
            cursor.execute("SELECT set_config('app.tenant', %s, false)", [tenant])
            for table in tenant_tables():
                cursor.execute(f"SELECT count(*) FROM {table.name}")  # noqa: S608  # from the catalog
                assert bool(cursor.fetchone()[0]) <= bool(seen), table.name
            cursor.execute("SELECT count(*) FROM personas_persona")
            assert cursor.fetchone() == (seen,)


def grant_to(role: Role, world: World, names: Iterable[str]) -> None:
    """What an installation's owner does for a tenant that wants other grants than the template."""
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT set_config('app.tenant', %s, false)", [str(world.tenant.pk)])
    group = Group.objects.using("owner").get(name=role.value)
    tenant = Tenant.objects.using("owner").get(pk=world.tenant.pk)
    known = Permission.objects.using("owner").filter(content_type__model=Tenant._meta.model_name)
    for permission in known.filter(codename__in=names).select_related("content_type"):
        TenantGroupObjectPermission.objects.db_manager("owner").assign_perm(permission, group, tenant)


@pytest.mark.slow
def test_a_tenants_own_grants_replace_the_template_and_narrow_it(committing: str) -> None:
    # R017: the grants differ in one tenant; the other stays with the template.
    strict, usual = make_world(), make_world()
    grant_to(Role.OPERATOR, strict, default_grants(Role.OPERATOR) - {"skill_approve__status"})
    narrowed = person_actor(strict.operator_user.pk, strict.tenant.pk, Role.OPERATOR)
    assert narrowed.grants == default_grants(Role.OPERATOR) - {"skill_approve__status"}
    assert person_actor(usual.operator_user.pk, usual.tenant.pk, Role.OPERATOR).grants == default_grants(Role.OPERATOR)
    skill = draft_skill(strict.agent.pk, actor=narrowed, values={"title": "Greet", "description": "Hi.", "body": "Hi."})
    with pytest.raises(NotPermitted, match="skill_approve__status"):
        approve_skill(skill, actor=narrowed, reviewed_sha256=skill.content_sha256)
    assert make_skill(usual, "approved").status == Skill.Status.APPROVED
    theirs = "SELECT id FROM tenants_tenantgroupobjectpermission WHERE content_object_id = %s"
    seen = [run_and_undo(world.operator, theirs, [strict.tenant.pk]).passed for world in (strict, usual)]
    assert seen == [True, False]


def test_a_token_is_looked_up_with_the_grants_of_its_tenant(committing: str) -> None:
    # R015: what is said of the tenant replaces the template, and what is said of the agent that.
    strict, usual = make_world(), make_world()
    grant_to(Role.AGENT, strict, ["skill_fetch", "profile_amend"])
    found = agent_of_token(strict.token)
    assert found is not None
    assert found.grants == {"skill_fetch", "profile_amend"}
    assert agent_of_token(usual.token) == usual.bot
    make_grants(strict, "skill_fetch")
    found = agent_of_token(strict.token)
    assert found is not None
    assert found.grants == default_grants(Role.AGENT) - {"skill_fetch"}


def test_waiting_work_of_every_tenant_is_found_by_id_alone(committing: str) -> None:
    # R109, R116
    first, second = make_world(), make_world()
    waiting = [(world.tenant.pk, make_event(world).conversation_id) for world in (first, second)]
    resolved = make_conversation(second)
    resolve_conversation(resolved, actor=second.bot)
    assert sorted(due_work("turns")) == sorted(waiting)
    assert due_work("extractions") == [(second.tenant.pk, resolved.pk)]


def test_every_commit_leaves_the_connection_without_role_and_tenant(committing: str) -> None:
    # R013
    world = make_world()
    with acting_as(world.bot.serving("http:abc123")):
        make_skill(world)
    assert present_settings() == ("none", "", "", "")


def present_settings() -> tuple[str, ...]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('role'), coalesce(current_setting('app.tenant', true), ''),"
            " coalesce(current_setting('app.agent', true), ''), coalesce(current_setting('app.customer', true), '')"
        )
        return tuple(cursor.fetchone())


def test_the_role_templates_say_what_the_policy_says(committing: str) -> None:
    assert RoleTemplate.objects.count() == len(Role)
