"""Who gets into the console, as whom, and how a one-time link works."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from apps.console.accounts.login import too_many_attempts
from apps.console.accounts.login_links import LIFETIME_SECONDS, LoginLinkTokens, login_link_path
from apps.governance.actors import Role
from apps.skills.models import Skill
from apps.tenants.accounts.people import get_or_create_person
from apps.tenants.accounts.sign_in_throttle import ATTEMPTS_PER_NAME
from apps.tenants.actions import add_member
from apps.tenants.models import User
from tests.support.drivers.console_client import form_values, list_of, page_of, page_text, signed_in
from tests.support.worlds.world import PASSWORD, World, make_skill, make_user, make_world

HOME = reverse("admin:index")
LOGIN = reverse("admin:login")


def log_in(username: str, password: str = PASSWORD) -> tuple[Client, str]:
    client = Client()
    response = client.post(LOGIN, {"username": username, "password": password, "next": HOME}, follow=True)
    return client, page_text(response)


def test_member_signs_in_with_a_password(world: World) -> None:
    client, page = log_in(world.operator_user.username)
    assert "To decide next" in page
    assert client.get(HOME).status_code == 200


def test_the_case_of_a_name_keeps_nobody_out(world: World) -> None:
    client, page = log_in(world.operator_user.username.upper())
    assert "To decide next" in page
    assert client.get(HOME).status_code == 200


def test_the_case_of_a_password_matters(world: World) -> None:
    client, page = log_in(world.operator_user.username, PASSWORD.swapcase())
    assert "Capitals matter in the password." in page
    assert client.get(HOME).status_code == 302


def test_wrong_password_does_not_sign_in(world: World) -> None:
    client, _ = log_in(world.operator_user.username, "wrong horse")
    assert client.get(HOME).status_code == 302


@pytest.mark.parametrize("name", ["the operator's", "nobody@nowhere.example"])
def test_who_guesses_has_to_wait_and_a_right_guess_is_not_looked_at_either(world: World, name: str) -> None:
    username = world.operator_user.username if name == "the operator's" else name
    for _ in range(ATTEMPTS_PER_NAME):
        _, page = log_in(username, "wrong horse")
        assert "Please enter the correct username and password." in page
    client, page = log_in(username)
    assert "Too many attempts. Wait 30 seconds, then try again, or ask the administrator of the installation" in page
    assert client.get(HOME).status_code == 302


def test_a_login_link_opens_while_the_password_has_to_wait(world: World) -> None:
    for _ in range(ATTEMPTS_PER_NAME + 1):
        log_in(world.operator_user.username, "wrong horse")
    client = Client()
    path = login_link_path(world.operator_user)
    assert client.post(path, follow=True).status_code == 200
    assert client.get(HOME).status_code == 200


def test_guesses_of_the_old_password_are_throttled_like_sign_in(operator: Client) -> None:
    path, typed = reverse("admin:password_change"), {"new_password1": "y" * 14, "new_password2": "y" * 14}
    for _ in range(ATTEMPTS_PER_NAME):
        operator.post(path, {"old_password": "wrong horse", **typed})
    assert "Too many attempts." in page_text(operator.post(path, {"old_password": PASSWORD, **typed}))


@pytest.mark.parametrize(
    ("seconds", "message"),
    [(1, "a second"), (30, "30 seconds"), (60, "a minute"), (61, "2 minutes"), (900, "15 minutes")],
)
def test_the_wait_is_told_in_words(seconds: int, message: str) -> None:
    assert f"Wait {message}, then" in too_many_attempts(seconds).messages[0]


def test_somebody_without_a_tenant_is_told_so(world: World) -> None:
    make_user("nobody@nowhere.example")
    client, page = log_in("nobody@nowhere.example")
    assert "You belong to no tenant yet." in page
    assert client.get(HOME).status_code == 302


def test_being_superuser_opens_nothing_but_the_page_to_enter_a_tenant(world: World) -> None:
    root = User.objects.create_superuser("root", "root@example.org", PASSWORD)
    client = signed_in(root)
    assert client.get(HOME)["Location"] == reverse("admin:switch_tenant")
    assert client.get(list_of(Skill))["Location"] == reverse("admin:switch_tenant")


def test_agents_service_user_cannot_sign_in(world: World) -> None:
    # R016
    service = User.objects.create_user("agent:0:stray", password=PASSWORD, is_service=True)
    _, page = log_in(service.username)
    assert "Please enter the correct username and password" in page
    assert signed_in(service).get(HOME)["Location"].startswith(LOGIN)


def test_agents_token_opens_no_page(world: World) -> None:
    response = Client(headers={"Authorization": f"Bearer {world.token}"}).get(HOME)
    assert response["Location"].startswith(LOGIN)


def test_member_who_was_switched_off_is_out(world: World, operator: Client) -> None:
    User.objects.filter(pk=world.operator_user.pk).update(is_active=False)
    assert operator.get(HOME).status_code == 302


def test_log_out_ends_the_session(operator: Client) -> None:
    assert operator.post(reverse("admin:logout")).status_code == 200
    assert operator.get(HOME).status_code == 302


def test_password_is_changed_from_the_console(world: World, operator: Client) -> None:
    path, fresh = reverse("admin:password_change"), "staple battery horse correct"
    given = {"old_password": PASSWORD, "new_password1": fresh, "new_password2": fresh}
    assert operator.post(path, given)["Location"] == reverse("admin:password_change_done")
    assert "To decide next" in log_in(world.operator_user.username, fresh)[1]


def test_changing_a_password_requires_the_old_one(world: World, operator: Client) -> None:
    path, fresh = reverse("admin:password_change"), "staple battery horse correct"
    assert 'name="old_password"' in operator.get(path).content.decode()
    refused = operator.post(path, {"new_password1": fresh, "new_password2": fresh})
    assert (refused.status_code, refused.context["form"].has_error("old_password")) == (200, True)
    assert (
        operator.post(path, {"old_password": "wrong", "new_password1": fresh, "new_password2": fresh}).status_code
        == 200
    )
    assert "To decide next" in log_in(world.operator_user.username)[1]


def test_a_first_password_after_a_link_requires_no_old_one(world: World) -> None:
    user, path, fresh = (
        get_or_create_person("ada@example.org"),
        reverse("admin:password_change"),
        "staple battery horse correct",
    )
    add_member(user, actor=world.system, role=Role.OPERATOR)
    guest = Client()
    guest.post(login_link_path(user))
    assert "Set a password" in page_text(guest.get(HOME))
    page = guest.get(path)
    assert "You have no password yet." in page_text(page)
    assert 'name="old_password"' not in page.content.decode()
    assert "Not saved." in page_text(guest.post(path, {"new_password1": fresh, "new_password2": "another"}))
    assert guest.post(path, {"new_password1": fresh, "new_password2": fresh}).status_code == 302
    assert "To decide next" in log_in(user.username, fresh)[1]
    assert 'name="old_password"' in guest.get(path).content.decode()


def test_member_of_two_tenants_sees_one_at_a_time_and_switches(world: World, operator: Client) -> None:
    other = make_world()
    add_member(world.operator_user, actor=other.system, role=Role.OPERATOR)
    mine, theirs = make_skill(world, title="Mine"), make_skill(other, title="Theirs")
    assert "Mine" in page_text(operator.get(list_of(Skill)))
    assert operator.get(page_of(theirs)).status_code == 302
    path = reverse("admin:switch_tenant")
    chosen = form_values(operator.get(path).content.decode(), path)
    assert chosen["tenant"] == str(other.tenant.pk)
    operator.post(path, chosen)
    assert "Theirs" in page_text(operator.get(list_of(Skill)))
    assert operator.get(page_of(mine)).status_code == 302


def test_nobody_switches_to_a_tenant_that_is_not_theirs(operator: Client) -> None:
    other = make_world()
    theirs = make_skill(other)
    operator.post(reverse("admin:switch_tenant"), {"tenant": other.tenant.pk})
    assert operator.get(page_of(theirs)).status_code == 302


def test_login_link_signs_in_once_and_only_by_post(world: World) -> None:
    path = login_link_path(world.operator_user)
    first, second = Client(), Client()
    assert world.operator_user.username in page_text(first.get(path))
    assert first.get(HOME).status_code == 302
    assert first.post(path)["Location"] == HOME
    assert first.get(HOME).status_code == 200
    assert second.post(path).status_code == 410
    assert "This link is used up" in page_text(second.get(path))
    assert second.get(HOME).status_code == 302


def test_login_link_ends_after_fifteen_minutes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    path = login_link_path(world.operator_user)
    later = LoginLinkTokens()._now() + timedelta(seconds=LIFETIME_SECONDS + 2)
    monkeypatch.setattr(LoginLinkTokens, "_now", staticmethod(lambda: later))
    assert Client().post(path).status_code == 410


def test_login_link_of_a_stranger_or_a_service_user_is_spent(world: World) -> None:
    good = login_link_path(world.operator_user)
    assert Client().get(good.replace("/login-link/", "/login-link/x")).status_code == 410
    service = User.objects.create_user("agent:0:other", is_service=True)
    assert Client().get(login_link_path(service)).status_code == 410


def test_login_link_command_prints_a_link_that_works(world: World) -> None:
    out, err = StringIO(), StringIO()
    call_command("login_link", world.operator_user.username, stdout=out, stderr=err)
    assert "15 minutes" in err.getvalue()
    origin, _, path = out.getvalue().strip().partition("/admin/")
    assert origin == "http://127.0.0.1:8000"
    assert Client().post(f"/admin/{path}")["Location"] == HOME


def test_login_link_command_knows_only_people(world: World) -> None:
    with pytest.raises(CommandError, match="There is no active person with the username nobody"):
        call_command("login_link", "nobody")


def test_a_page_outside_the_console_is_dressed_like_it(world: World, client: Client) -> None:
    page = client.get(login_link_path(world.operator_user)).content.decode()
    assert "/static/console/console.css" in page
    assert "/static/console/icon.svg" in page
