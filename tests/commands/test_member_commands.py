"""invite_member, deactivate_member and reset_member, as whoever runs the installation uses them."""

import pytest
from django.test import Client
from django.urls import reverse

from apps.governance.actors import Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord
from apps.governance.policy.policy_table import Act
from apps.tenants.actions import add_member
from apps.tenants.authentication.actor_resolution import memberships_of
from apps.tenants.models import User
from tests.support.drivers.management_command import CommandOutput, run_command
from tests.support.worlds.world import PASSWORD, World, make_world, member_of

pytestmark = pytest.mark.django_db

HOME = reverse("admin:index")


@pytest.fixture
def world() -> World:
    return make_world()


def path_in(seen: CommandOutput) -> str:
    """The path of the link that was printed, and nothing else on standard output."""
    origin, _, rest = seen.out.strip().partition("/admin/")
    assert origin == "http://127.0.0.1:8000"
    return f"/admin/{rest}"


def acts_of(world: World, act: Act) -> list[str]:
    with acting_as(world.admin):
        books = ChangeRecord.objects.filter(act=act.value)
        return [record.actor_label for record in books.order_by("pk")]


def test_an_invited_person_comes_in_once_by_the_printed_link(world: World) -> None:
    seen = run_command("invite_member", "ada@example.org", "--tenant", world.tenant.key, "--role", "admin")
    assert seen.failure == ""
    assert "within 3 days" in seen.err
    guest, path = Client(), path_in(seen)
    assert guest.post(path)["Location"] == HOME
    assert guest.get(HOME).status_code == 200
    assert Client().post(path).status_code == 410
    user = User.objects.get(username="ada@example.org")
    assert memberships_of(user.pk) == [(world.tenant.pk, Role.ADMIN)]
    assert acts_of(world, Act.MEMBER_INVITE) == ["system"]


def test_no_link_is_printed_for_a_verified_address(world: World) -> None:
    other = make_world()
    seen = run_command("invite_member", other.admin_user.username, "--tenant", world.tenant.key)
    assert (seen.failure, seen.out) == ("", "")
    assert "The address is proven already" in seen.err


def test_a_reset_ends_password_and_session_and_its_link_lets_in_again(world: World) -> None:
    user = world.operator_user
    signed_in = Client()
    signed_in.force_login(user)
    seen = run_command("reset_member", user.username, "--tenant", world.tenant.key, "--as", world.admin_user.username)
    assert seen.failure == ""
    assert signed_in.get(HOME).status_code == 302
    assert not Client().login(username=user.username, password=PASSWORD)
    assert Client().post(path_in(seen))["Location"] == HOME
    assert acts_of(world, Act.MEMBER_RESET) == [world.admin.label]


@pytest.mark.parametrize("command", ["reset_member", "deactivate_member"])
def test_a_member_is_found_whatever_the_case_of_the_address(world: World, command: str) -> None:
    tenant, admin = ("--tenant", world.tenant.key), ("--as", world.admin_user.username.upper())
    assert run_command("invite_member", "Ada@example.org", *tenant, *admin).failure == ""
    seen = run_command(command, "ADA@Example.org", *tenant, *admin)
    assert seen.failure == ""
    # Said with the name the account has.
    assert "Ada@example.org" in seen.out + seen.err
    act = Act.MEMBER_RESET if command == "reset_member" else Act.MEMBER_DEACTIVATE
    assert acts_of(world, act) == [world.admin.label]


def test_a_member_of_several_tenants_is_not_reset(world: World) -> None:
    add_member(world.operator_user, actor=make_world().admin, role=Role.ADMIN)
    seen = run_command("reset_member", world.operator_user.username, "--tenant", world.tenant.key)
    assert "opens more than this tenant" in seen.failure
    assert Client().login(username=world.operator_user.username, password=PASSWORD)


def test_a_deactivated_member_is_out_at_the_next_request_and_stays_in_the_books(world: World) -> None:
    user, tenant = world.operator_user, ("--tenant", world.tenant.key)
    signed_in = Client()
    signed_in.force_login(user)
    seen = run_command("deactivate_member", user.username, *tenant, "--reason", "Left us.")
    assert f"{user.username} is deactivated" in seen.out
    assert signed_in.get(HOME).status_code == 302
    assert not member_of(world, user).is_active
    assert "deactivated already" in run_command("deactivate_member", user.username, *tenant).failure
    assert "is deactivated, so no link" in run_command("reset_member", user.username, *tenant).failure
    assert acts_of(world, Act.MEMBER_DEACTIVATE) == ["system"]


def test_the_last_admin_stays(world: World) -> None:
    seen = run_command("deactivate_member", world.admin_user.username, "--tenant", world.tenant.key)
    assert "admin" in seen.failure
    assert member_of(world, world.admin_user).is_active


@pytest.mark.parametrize("command", ["invite_member", "deactivate_member", "reset_member"])
def test_an_operator_decides_about_no_member(world: World, command: str) -> None:
    tenant, operator = ("--tenant", world.tenant.key), ("--as", world.operator_user.username)
    subject = "ada@example.org" if command == "invite_member" else world.admin_user.username
    assert run_command(command, subject, *tenant, *operator).failure
    assert not User.objects.filter(username="ada@example.org").exists()
    assert member_of(world, world.admin_user).is_active


def test_words_that_name_nobody_are_refused_with_a_sentence(world: World) -> None:
    tenant = ("--tenant", world.tenant.key)
    assert "no tenant “nowhere”" in run_command("invite_member", "ada@example.org", "--tenant", "nowhere").failure
    assert "not an active member" in run_command("invite_member", "ada@example.org", *tenant, "--as", "nobody").failure
    assert "is not a member of tenant" in run_command("reset_member", "ada@example.org", *tenant).failure
    assert (
        "is not a member of tenant"
        in run_command("deactivate_member", make_world().admin_user.username, *tenant).failure
    )
    assert run_command("invite_member", "not a mail address", *tenant).failure
    assert run_command("invite_member", world.operator_user.username, *tenant).failure
