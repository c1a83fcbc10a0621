"""What guardian answers of a role's group is what an actor of that role carries, act by act and field by field."""

from collections.abc import Callable, Iterable, Iterator, Mapping

import pytest
from django.contrib.auth.models import Group
from django.db import connections
from django.db.models import Model
from guardian.core import ObjectPermissionChecker
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.governance.actors import Actor, Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.policy.policy_table import POLICY, Act, codename, default_grants
from apps.tenants.actions import withdraw_grants, write_grants
from apps.tenants.authentication.actor_resolution import agent_actor, person_actor, staff_actor, system_actor
from apps.tenants.models import RoleTemplate
from apps.tenants.models.grants import AgentGrants, RoleTemplateGroupObjectPermission, TenantGroupObjectPermission
from tests.governance.database.test_row_security_on_committed_rows import grant_to
from tests.support.worlds.world import World, make_limit, make_staff, make_world

pytestmark = pytest.mark.kernel

# Every permission there is, as the act and the field it is of.
NAMES = {codename(act, field): (act, field) for act, rule in POLICY.items() for field in ("", *rule.fields)}
ROLES_WITH_AGENT_GRANTS = (Role.OPERATOR, Role.AGENT)


def request_actor(world: World, role: Role) -> Actor:
    """The actor of this role as its next request finds it."""
    ways: Mapping[Role, Callable[[], Actor]] = {
        Role.OPERATOR: lambda: person_actor(world.operator_user.pk, world.tenant.pk, Role.OPERATOR),
        Role.ADMIN: lambda: person_actor(world.admin_user.pk, world.tenant.pk, Role.ADMIN),
        Role.AGENT: lambda: agent_actor(world.tenant.pk, world.agent.pk, world.agent.service_user_id, world.agent.key),
        Role.SYSTEM: lambda: system_actor(world.tenant.pk),
        Role.STAFF: lambda: staff_actor(make_staff().pk, world.tenant.pk),
    }
    return ways[role]()


def differences(world: World, role: Role) -> Iterator[str]:
    """Each permission of which guardian says something else than the actor; of a template, than the policy."""
    actor = request_actor(world, role)
    with acting_as(world.admin):
        checker = ObjectPermissionChecker(Group.objects.get(name=role.value))
        template = RoleTemplate.objects.get(role=role.value)
        usual = world.tenant if checker.get_perms(world.tenant) else template
        has_own = AgentGrants.objects.filter(agent=world.agent, role=role.value).exists()
        compared: list[tuple[Model, frozenset[str]]] = [
            (template, default_grants(role)),
            (world.agent if has_own else usual, dict(actor.by_agent).get(world.agent.pk, actor.grants)),
        ]
        if role is not Role.AGENT or not has_own:
            # An agent with grants of its own writes with them wherever it writes.
            compared.append((usual, actor.grants))
        for row, names in compared:
            for name, (act, field) in NAMES.items():
                if checker.has_perm(name, row) != (name in names):
                    yield f"{role} {act} {field}: guardian says {name not in names} of {row._meta.verbose_name} {row}."


def replace_grants(world: World, role: Role, own: Iterable[str], of_agent: Iterable[str] | None) -> None:
    """Let the tenant's own grants of a role, and those on its agent, be these; None leaves the agent without any."""
    for each in ROLES_WITH_AGENT_GRANTS:
        with acting_as(world.admin):
            standing = list(AgentGrants.objects.filter(agent=world.agent, role=each.value))
        for grants in standing:
            withdraw_grants(grants, actor=world.admin)
    grant_to(role, world, ())
    TenantGroupObjectPermission.objects.using("owner").all().delete()
    grant_to(role, world, own)
    if of_agent is not None and role in ROLES_WITH_AGENT_GRANTS:
        row = AgentGrants(tenant_id=world.tenant.pk, agent=world.agent, role=role.value)
        write_grants(row, actor=world.admin, granted=set(of_agent) & default_grants(role))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    role=st.sampled_from(sorted(set(Role) - {Role.SYSTEM})),
    own=st.sets(st.sampled_from(sorted(NAMES)), max_size=5),
    of_agent=st.none() | st.sets(st.sampled_from(sorted(NAMES)), max_size=9),
)
@pytest.mark.slow
def test_guardian_and_the_actor_agree_whatever_a_tenant_grants(
    committing: str, role: Role, own: set[str], of_agent: set[str] | None
) -> None:
    # R015, R017: grants beyond the floor are carried too; the floor is asked before them.
    world = make_world()
    make_limit(world, Act.SKILL_APPROVE)
    replace_grants(world, role, own, of_agent)
    assert list(differences(world, role)) == []
    if own and role is not Role.AGENT:
        assert request_actor(world, role).grants == own


@pytest.mark.parametrize("role", Role)
def test_guardian_the_templates_and_the_policy_agree_of_each_role(committing: str, role: Role) -> None:
    # R015, R016: the trust levels, each with every act and field.
    world = make_world()
    assert list(differences(world, role)) == []
    assert request_actor(world, role).grants == default_grants(role)


# What somebody with psql could do to one grant of operators: take it, or let it name the permission of another model.
BROKEN_GRANT_STATEMENTS = {
    "taken": "DELETE FROM tenants_roletemplategroupobjectpermission WHERE id = %(grant)s",
    "of another model": "UPDATE tenants_roletemplategroupobjectpermission SET permission_id ="
    " (SELECT other.id FROM auth_permission other JOIN django_content_type kind ON kind.id = other.content_type_id"
    " WHERE kind.model = 'tenant' AND other.codename = 'skill_approve__status') WHERE id = %(grant)s",
}


@pytest.mark.parametrize("deed", BROKEN_GRANT_STATEMENTS)
def test_a_grant_broken_by_hand_is_noticed(committing: str, deed: str) -> None:
    world = make_world()
    templates = RoleTemplateGroupObjectPermission.objects.using("owner").filter(group__name=Role.OPERATOR.value)
    grant = templates.get(permission__codename="skill_approve__status")
    with connections["owner"].cursor() as cursor:
        cursor.execute(BROKEN_GRANT_STATEMENTS[deed], {"grant": grant.pk})
    noticed = list(differences(world, Role.OPERATOR))
    assert noticed
    assert all(line.startswith("operator skill.approve status: guardian says False") for line in noticed)
