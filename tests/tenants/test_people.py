"""Letting people in, keeping them out, and starting them anew."""

from dataclasses import replace

import pytest

from apps.governance.actors import Role
from apps.governance.database.actor_transaction import acting_as, current_actor, outside_tenant
from apps.governance.errors import Conflict, IllegalTransition
from apps.governance.models import ChangeRecord
from apps.governance.policy.policy_table import Act
from apps.tenants.accounts.people import deactivate_and_sign_out, person_signed_in, reset_sign_in
from apps.tenants.actions import add_member, change_role, deactivate_member, limit_member, reactivate_member
from apps.tenants.authentication.actor_resolution import member_by_username, memberships_of
from apps.tenants.models import Membership, User
from apps.tenants.models.grants import MemberLimit
from tests.support.worlds.world import World, make_member, make_user, make_world, member_of

pytestmark = [pytest.mark.kernel, pytest.mark.django_db]


@pytest.fixture
def world() -> World:
    return make_world()


def sessions_of(user_id: int) -> str:
    """What every open session of a person carries."""
    return User.objects.get(pk=user_id).get_session_auth_hash()


def acts(world: World) -> list[str]:
    with acting_as(world.admin):
        return list(ChangeRecord.objects.order_by("id").values_list("act", flat=True))


def test_a_deactivated_member_is_nobody_from_the_next_request_on(world: World) -> None:
    member, before = member_of(world, world.operator_user), sessions_of(world.operator_user.pk)
    deactivate_and_sign_out(member, actor=world.admin, reason="Left us.")
    assert memberships_of(world.operator_user.pk) == []
    assert member_by_username(world.operator_user.username, world.tenant.pk) is None
    assert sessions_of(world.operator_user.pk) != before
    reactivate_member(member, actor=world.admin)
    assert member_by_username(world.operator_user.username, world.tenant.pk) == world.operator


def test_a_member_elsewhere_keeps_the_sessions_there(world: World) -> None:
    # R006
    other = make_world()
    add_member(world.operator_user, actor=other.admin, role=Role.OPERATOR)
    before = sessions_of(world.operator_user.pk)
    deactivate_and_sign_out(member_of(world, world.operator_user), actor=world.admin)
    assert memberships_of(world.operator_user.pk) == [(other.tenant.pk, Role.OPERATOR)]
    assert sessions_of(world.operator_user.pk) == before


def test_the_last_active_admin_stays(world: World) -> None:
    admin = member_of(world, world.admin_user)
    with pytest.raises(IllegalTransition, match="without an active admin"):
        deactivate_member(admin, actor=world.system)
    with pytest.raises(IllegalTransition, match="Make somebody else admin first"):
        change_role(admin, actor=world.system, role=Role.OPERATOR)
    make_member(world, role=Role.ADMIN)
    assert not deactivate_member(admin, actor=world.system).is_active


def test_a_deactivated_admin_does_not_count_as_one(world: World) -> None:
    second = make_member(world, role=Role.ADMIN)
    deactivate_member(second, actor=world.admin)
    with pytest.raises(IllegalTransition):
        deactivate_member(member_of(world, world.admin_user), actor=world.system)


def test_nobody_changes_their_own_membership(world: World) -> None:
    make_member(world, role=Role.ADMIN)
    mine = member_of(world, world.admin_user)
    with pytest.raises(Conflict, match="another admin"):
        deactivate_member(mine, actor=world.admin)
    with pytest.raises(Conflict, match="another admin"):
        change_role(mine, actor=world.admin, role=Role.OPERATOR)


def test_a_changed_role_holds_from_the_next_request_on_and_keeps_the_limits(world: World) -> None:
    member = member_of(world, world.operator_user)
    limit = MemberLimit(tenant_id=world.tenant.pk, member=member, limited_act=Act.SKILL_APPROVE.value)
    limit_member(limit, actor=world.admin, agents=[])
    change_role(member, actor=world.admin, role=Role.ADMIN)
    actor = member_by_username(world.operator_user.username, world.tenant.pk)
    assert actor is not None
    assert actor.role is Role.ADMIN
    assert actor.limits == (("skill_approve", frozenset()),)


def test_a_reset_ends_password_and_sessions(world: World) -> None:
    member, before = member_of(world, world.operator_user), sessions_of(world.operator_user.pk)
    reset_sign_in(member, actor=world.admin, reason="Lost the phone.")
    assert not User.objects.get(pk=world.operator_user.pk).has_usable_password()
    assert sessions_of(world.operator_user.pk) != before
    assert acts(world)[-1] == "member.reset"


def test_nobody_resets_whose_account_opens_more_than_this_tenant(world: World) -> None:
    # R006: the link would open the other tenant, or every one.
    member = member_of(world, world.operator_user)
    add_member(world.operator_user, actor=make_world().admin, role=Role.OPERATOR)
    with pytest.raises(Conflict, match="opens more than this tenant"):
        reset_sign_in(member, actor=world.admin)
    root = make_user("root@example.org")
    User.objects.filter(pk=root.pk).update(is_superuser=True)
    with pytest.raises(Conflict, match="opens more than this tenant"):
        reset_sign_in(add_member(root, actor=world.admin, role=Role.OPERATOR), actor=world.admin)
    assert User.objects.get(pk=world.operator_user.pk).has_usable_password()


def test_stepping_outside_sees_no_tenant_and_comes_back(world: World) -> None:
    # R013
    with acting_as(world.admin):
        with outside_tenant():
            assert current_actor() is None
            assert replace(world.admin) == world.admin
        assert current_actor() == world.admin
        assert Membership.objects.visible_to(world.admin).count() == 2


def test_an_identity_provider_names_people_and_nobody_else(world: World) -> None:
    assert person_signed_in(world.operator_user.username.upper()) == world.operator_user
    assert person_signed_in("stranger@example.org") is None
    assert person_signed_in(f"agent:{world.tenant.pk}:support") is None
    User.objects.filter(pk=world.operator_user.pk).update(is_active=False)
    assert person_signed_in(world.operator_user.username) is None
