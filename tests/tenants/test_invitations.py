"""Whom an invitation lets in: the person it names, however somebody else may have used that name before."""

from dataclasses import replace

import pytest

from apps.governance.actors import Actor, Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, IllegalTransition, Invalid, NotPermitted
from apps.governance.models import ChangeRecord
from apps.tenants.accounts.invitations import Invitation, accept_invitation, invitation_of, invite
from apps.tenants.accounts.people import mark_address_proven, opens_other_tenants, person_signed_in, reset_sign_in
from apps.tenants.actions import accept_membership, deactivate_member, reactivate_member
from apps.tenants.authentication.actor_resolution import memberships_of
from apps.tenants.models import Membership, User
from apps.tenants.review_settings import review_terms
from tests.support.database.raw_sql_as_role import BROKEN_RULE, NO_RIGHT, run_and_undo
from tests.support.worlds.world import PASSWORD, World, make_user, make_world, member_of

pytestmark = pytest.mark.django_db
ADA = "ada@example.org"


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def hijacker(world: World) -> User:
    """Somebody who is a member of the tenant under an address that may be another's, with a password of theirs."""
    accept_invitation(pending_invitation(invite(ADA, Role.OPERATOR, actor=world.admin).row))
    user = User.objects.get(username=ADA)
    user.set_password(PASSWORD)
    user.save(update_fields=["password"])
    return user


def pending_invitation(row: Membership) -> Invitation:
    found = invitation_of(row.user_id, row.tenant_id)
    assert found is not None
    return found


def acts(actor: Actor) -> list[str]:
    with acting_as(actor):
        return list(ChangeRecord.objects.order_by("id").values_list("act", flat=True))


def test_an_invitation_makes_the_person_and_opens_nothing_until_it_is_accepted(world: World) -> None:
    invited = invite(ADA, Role.OPERATOR, actor=world.admin)
    user = User.objects.get(username=ADA)
    assert not invited.is_open
    assert not user.has_usable_password()
    assert memberships_of(user.pk) == []
    accept_invitation(pending_invitation(invited.row))
    assert memberships_of(user.pk) == [(world.tenant.pk, Role.OPERATOR)]
    assert acts(world.admin)[-2:] == ["member.invite", "member.accept"]
    assert invitation_of(user.pk, world.tenant.pk) is None


def test_a_verified_address_joins_at_once_and_keeps_its_account(world: World) -> None:
    other = make_world()
    before = User.objects.get(pk=other.admin_user.pk).get_session_auth_hash()
    assert invite(other.admin_user.username.upper(), Role.OPERATOR, actor=world.admin).is_open
    assert len(memberships_of(other.admin_user.pk)) == 2
    assert User.objects.get(pk=other.admin_user.pk).get_session_auth_hash() == before


def test_an_account_made_elsewhere_under_an_address_becomes_nobodys_member(world: World, hijacker: User) -> None:
    # R006: whoever set it up in one tenant must not be let into another that invites the address's owner.
    other = make_world()
    row = invite(ADA, Role.ADMIN, actor=other.admin).row
    assert memberships_of(hijacker.pk) == [(world.tenant.pk, Role.OPERATOR)]
    assert opens_other_tenants(hijacker, other.tenant.pk), (
        "so that the link alone does not open the first tenant either"
    )
    reset_sign_in(row, actor=other.admin)
    reset_sign_in(row, actor=other.admin)
    assert User.objects.get(pk=hijacker.pk).has_usable_password(), "another link leaves the account alone"


@pytest.mark.parametrize("by", ["identity provider", "the owner's link"])
def test_the_owner_of_the_address_throws_out_who_used_it_before(world: World, hijacker: User, by: str) -> None:
    other, session = make_world(), hijacker.get_session_auth_hash()
    invite(ADA, Role.OPERATOR, actor=other.admin)
    if by == "identity provider":
        assert person_signed_in(ADA.title()) == hijacker
    else:
        mark_address_proven(hijacker)
    user = User.objects.get(pk=hijacker.pk)
    assert not user.has_usable_password()
    assert user.get_session_auth_hash() != session
    assert dict(memberships_of(user.pk)) == {world.tenant.pk: Role.OPERATOR, other.tenant.pk: Role.OPERATOR}
    user.set_password(PASSWORD)
    user.save(update_fields=["password"])
    assert person_signed_in(ADA) is not None
    assert User.objects.get(pk=user.pk).has_usable_password(), "the second time nothing ends"


def test_a_link_throws_out_who_had_an_account_that_opens_nothing_any_more(world: World, hijacker: User) -> None:
    other, member = make_world(), member_of(world, hijacker)
    deactivate_member(member, actor=world.admin)
    accept_invitation(pending_invitation(invite(ADA, Role.OPERATOR, actor=other.admin).row))
    assert not User.objects.get(pk=hijacker.pk).has_usable_password()
    reactivate_member(member, actor=world.admin)
    assert memberships_of(hijacker.pk) == [(other.tenant.pk, Role.OPERATOR)], "what the one before accepted is void"


def test_an_address_that_changes_is_proven_no_more(world: World) -> None:
    user = world.operator_user
    User.objects.filter(pk=user.pk).update(email="operator@elsewhere.example")
    assert User.objects.get(pk=user.pk).email_verified_at is None
    assert memberships_of(user.pk) == []


def test_a_reset_asks_anew_who_they_are(world: World) -> None:
    row = reset_sign_in(member_of(world, world.operator_user), actor=world.admin)
    assert memberships_of(world.operator_user.pk) == []
    accept_invitation(pending_invitation(row))
    assert memberships_of(world.operator_user.pk) == [(world.tenant.pk, Role.OPERATOR)]


def test_nobody_accepts_for_another_or_twice(world: World) -> None:
    row = invite(ADA, Role.OPERATOR, actor=world.admin).row
    with pytest.raises(NotPermitted, match="is for another person"):
        accept_membership(row, actor=world.admin)
    theirs = replace(world.operator, user_id=row.user_id)
    accept_membership(row, actor=theirs)
    with pytest.raises(Conflict, match="accepted or withdrawn already"):
        accept_membership(row, actor=theirs)


def test_the_database_lets_no_member_be_born_accepted_and_only_people_accept(world: World) -> None:
    user = make_user(ADA)
    born = (
        "INSERT INTO tenants_membership (tenant_id, user_id, role, is_active, accepted_at, version, taint, created_at,"
        " updated_at) VALUES (%s, %s, 'operator', true, now(), 1, 'operator', now(), now())"
    )
    for actor in (world.admin, world.system):
        refused = run_and_undo(actor, born, [world.tenant.pk, user.pk])
        assert (refused.sqlstate, refused.constraint) == (BROKEN_RULE, "member_starts_unaccepted")
    assert run_and_undo(world.system, "UPDATE tenants_membership SET accepted_at = now()").sqlstate == NO_RIGHT
    assert run_and_undo(None, "SELECT list_memberships(%s)", [user.pk]).rows == 0


def test_an_invited_person_is_no_reviewer_and_no_last_admin(world: World) -> None:
    row = invite(ADA, Role.ADMIN, actor=world.admin).row
    people = review_terms(world.admin).people
    assert people is not None
    assert row.user_id not in people
    with pytest.raises(IllegalTransition, match="without an active admin"):
        deactivate_member(member_of(world, world.admin_user), actor=world.system)
    accept_invitation(pending_invitation(row))
    deactivate_member(member_of(world, world.admin_user), actor=world.system)


def test_an_invitation_that_is_refused_makes_nobody(world: World) -> None:
    with pytest.raises(Invalid):
        invite("not a name!", Role.OPERATOR, actor=world.admin)
    with pytest.raises(Invalid):
        invite("bot@example.org", Role.AGENT, actor=world.admin)
    assert not User.objects.filter(username="bot@example.org").exists()
