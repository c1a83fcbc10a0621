"""What a tenant changes of a role's grants: within the floor, for itself alone, with a reason, and back again."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group
from guardian.core import ObjectPermissionChecker

from apps.governance.actors import Actor, Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, Invalid, NotPermitted, Stale
from apps.governance.models import ChangeRecord
from apps.governance.policy.policy_table import default_grants
from apps.review.skill_actions import approve_skill
from apps.skills.actions import amend_skill
from apps.skills.models import Skill
from apps.tenants.actions import withdraw_role_grants, write_role_grants
from apps.tenants.authentication.actor_resolution import agent_of_token, person_actor
from apps.tenants.grants.guardian_sync import grants_of_tenant, tenant_wide_grants
from apps.tenants.models.grants import RoleGrants, TenantGroupObjectPermission
from tests.support.database.raw_sql_as_role import BROKEN_RULE, NO_RIGHT, run_and_undo
from tests.support.worlds.world import World, make_grants, make_role_grants, make_skill, make_world

pytestmark = pytest.mark.django_db

GRANT_REASON = "Settled at the review."
WITHHELD = "skill_approve__status"


@pytest.fixture
def world() -> World:
    return make_world()


def operator(world: World) -> Actor:
    """The operator as the next request finds them."""
    return person_actor(world.operator_user.pk, world.tenant.pk, Role.OPERATOR)


def approve(skill: Skill, actor: Actor) -> Skill:
    approve_skill(skill, actor=actor, reviewed_sha256=skill.content_sha256)
    return skill


def records(world: World) -> list[ChangeRecord]:
    with acting_as(world.admin):
        return list(ChangeRecord.objects.filter(act__startswith="role_grant").select_related("text").order_by("id"))


def test_a_grant_withheld_from_operators_is_refused_until_it_is_given_back(world: World) -> None:
    # R015, R016, R017
    skill, other = make_skill(world), make_world()
    grants = make_role_grants(world, WITHHELD)
    assert grants.withheld == [WITHHELD]
    assert operator(world).grants == default_grants(Role.OPERATOR) - {WITHHELD}
    with pytest.raises(NotPermitted, match=f"lacks the grant “{WITHHELD}”"):
        approve(skill, operator(world))
    assert operator(other) == other.operator
    write_role_grants(
        grants, actor=world.admin, granted=default_grants(Role.OPERATOR), reason=GRANT_REASON, read_at=grants.version
    )
    assert approve(skill, operator(world)).status == Skill.Status.APPROVED


def test_guardian_answers_what_the_tenant_granted(world: World) -> None:
    # R015, R017
    make_role_grants(world, WITHHELD)
    with acting_as(world.operator):
        checker = ObjectPermissionChecker(Group.objects.get(name="operator"))
        assert not checker.has_perm(WITHHELD, world.tenant)
        assert checker.has_perm("skill_approve", world.tenant)
        assert grants_of_tenant(world.tenant) == {Role.OPERATOR: default_grants(Role.OPERATOR) - {WITHHELD}}
        assert tenant_wide_grants(Role.OPERATOR, world.tenant.pk) == default_grants(Role.OPERATOR) - {WITHHELD}


def test_every_agent_of_the_tenant_goes_without_what_is_withheld_from_agents(world: World) -> None:
    # R015, R017
    make_role_grants(world, "skill_amend__body", role=Role.AGENT)
    found = agent_of_token(world.token)
    assert found is not None
    assert found.grants == default_grants(Role.AGENT) - {"skill_amend__body"}
    skill = make_skill(world, actor=found)
    assert amend_skill(skill, actor=found, values={"title": "Refunds"}).title == "Refunds"
    with pytest.raises(NotPermitted, match="skill_amend__body"):
        amend_skill(skill, actor=found, values={"body": "## Procedure\n1. Pay.\n"})


def test_grants_on_one_agent_replace_those_of_the_tenant_there(world: World) -> None:
    make_role_grants(world, "skill_fetch", role=Role.AGENT)
    make_grants(world, "profile_amend")
    found = agent_of_token(world.token)
    assert found is not None
    assert found.grants == default_grants(Role.AGENT) - {"profile_amend"}


def test_withdrawn_the_role_holds_its_template_again(world: World) -> None:
    grants = make_role_grants(world, WITHHELD)
    withdraw_role_grants(grants, actor=world.admin, reason="Enough.")
    assert operator(world) == world.operator
    with acting_as(world.admin):
        assert not RoleGrants.objects.exists()
        assert not TenantGroupObjectPermission.objects.exists()
    made = records(world)
    assert [(record.act, record.text.reason) for record in made] == [
        ("role_grant.write", GRANT_REASON),
        ("role_grant.withdraw", "Enough."),
    ]
    assert made[0].text.after["permissions"] == sorted(default_grants(Role.OPERATOR) - {WITHHELD})


def test_no_change_of_grants_goes_without_a_reason(world: World) -> None:
    grants = make_role_grants(world, WITHHELD)
    undone: list[Callable[[], object]] = [
        lambda: write_role_grants(grants, actor=world.admin, granted=["skill_draft"], reason=" "),
        lambda: withdraw_role_grants(grants, actor=world.admin, reason=""),
    ]
    for act in undone:
        with pytest.raises(Invalid, match="Give a reason") as refusal:
            act()
        assert list(refusal.value.fields) == ["reason"]
    assert operator(world).grants == default_grants(Role.OPERATOR) - {WITHHELD}
    assert len(records(world)) == 1


@pytest.mark.parametrize(
    ("role", "granted"), [(Role.OPERATOR, "settings_amend"), (Role.AGENT, "skill_approve"), (Role.AGENT, "no_such")]
)
def test_no_grant_of_a_tenant_lifts_the_role_floor(world: World, role: Role, granted: str) -> None:
    # R016
    grants = RoleGrants(tenant_id=world.tenant.pk, role=role.value)
    with pytest.raises(
        Invalid, match=f"The role floor does not allow these permissions, or they do not exist: {granted}"
    ):
        write_role_grants(grants, actor=world.admin, granted=["skill_draft", granted], reason=GRANT_REASON)
    with acting_as(world.admin):
        assert not TenantGroupObjectPermission.objects.exists()


def test_a_role_keeps_a_grant_because_without_any_its_template_would_hold(world: World) -> None:
    # R016
    grants = make_role_grants(world)
    with pytest.raises(Invalid, match="Grant at least one permission"):
        write_role_grants(grants, actor=world.admin, granted=[], reason=GRANT_REASON)
    emptied = run_and_undo(world.admin, "UPDATE tenants_rolegrants SET permissions = '[]'")
    assert (emptied.sqlstate, emptied.constraint) == (BROKEN_RULE, "role_keeps_a_grant")


@pytest.mark.parametrize("role", [Role.ADMIN, Role.SYSTEM, Role.STAFF])
def test_a_tenant_changes_no_other_role(world: World, role: Role) -> None:
    with pytest.raises(Invalid, match="not a valid choice"):
        make_role_grants(world, role=role)


def test_a_role_has_one_row_and_is_changed_over_the_version_that_was_read(world: World) -> None:
    grants = make_role_grants(world, WITHHELD)
    with pytest.raises(Conflict, match="has grants of its own in this tenant already"):
        make_role_grants(world)
    write_role_grants(grants, actor=world.admin, granted=["skill_draft"], reason=GRANT_REASON, read_at=grants.version)
    with pytest.raises(Stale):
        write_role_grants(
            grants, actor=world.admin, granted=["skill_amend"], reason=GRANT_REASON, read_at=grants.version - 1
        )
    assert operator(world).grants == {"skill_draft"}


def test_only_admins_change_what_a_role_may(world: World) -> None:
    grants = make_role_grants(world, WITHHELD)
    for actor in (world.operator, world.bot, world.system):
        with pytest.raises(NotPermitted):
            write_role_grants(grants, actor=actor, granted=default_grants(Role.OPERATOR), reason=GRANT_REASON)
        with pytest.raises(NotPermitted):
            withdraw_role_grants(grants, actor=actor, reason=GRANT_REASON)


def test_guardians_rows_of_a_tenant_are_out_of_reach_of_agents_and_of_other_tenants(world: World) -> None:
    # R006, R012: PostgreSQL refuses what no action would try.
    make_role_grants(world, WITHHELD)
    other = make_world()
    removed = "DELETE FROM tenants_tenantgroupobjectpermission WHERE content_object_id = %s"
    assert run_and_undo(world.admin, removed, [world.tenant.pk]).passed
    assert run_and_undo(other.admin, removed, [world.tenant.pk]).rows == 0
    for actor in (world.bot, world.system):
        assert run_and_undo(actor, removed, [world.tenant.pk]).sqlstate == NO_RIGHT
    planted = (
        "INSERT INTO tenants_tenantgroupobjectpermission (group_id, permission_id, content_object_id)"
        " SELECT auth_group.id, permission.id, %s FROM auth_group, auth_permission permission"
        " WHERE auth_group.name = 'operator' AND permission.codename = 'skill_approve__status' LIMIT 1"
    )
    assert run_and_undo(world.admin, planted, [world.tenant.pk]).passed
    assert run_and_undo(other.admin, planted, [world.tenant.pk]).sqlstate == NO_RIGHT
    assert run_and_undo(world.bot, planted, [world.tenant.pk]).sqlstate == NO_RIGHT
