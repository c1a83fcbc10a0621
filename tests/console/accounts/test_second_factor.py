"""A second factor: nobody who has one gets anywhere without a code, whatever way they came, and a tenant may ask for one."""

import re

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from pytest_django import Settings

from apps.console.accounts.login_links import login_link_path
from apps.console.middleware import VIEWS_BEFORE_CODE
from apps.governance.database.actor_transaction import acting_as
from apps.tenants.accounts.second_factor import RECOVERY_CODES, recovery_codes_left
from apps.tenants.accounts.sign_in_throttle import ATTEMPTS_PER_NAME
from apps.tenants.actions import amend_settings
from apps.tenants.models import Membership, TenantSettings, User
from tests.support.drivers.authenticator_device import Device, with_device
from tests.support.drivers.console_client import decide, list_of, page_text, page_words, signed_in
from tests.support.worlds.world import PASSWORD, World, make_staff, member_of

HOME, LOGIN = reverse("admin:index"), reverse("admin:login")
CODE, FACTOR = reverse("admin:second_factor_code"), reverse("admin:second_factor")


@pytest.fixture
def device(world: World) -> Device:
    return with_device(world.operator_user)


@pytest.fixture
def half(world: World, device: Device) -> Client:
    """The operator behind the password, before a code."""
    client = Client()
    client.post(LOGIN, {"username": world.operator_user.username, "password": PASSWORD, "next": HOME})
    return client


def require_second_factor(world: World) -> None:
    """The tenant asks its people for a second factor."""
    with acting_as(world.admin):
        row = TenantSettings.objects.visible_to(world.admin).get()
    amend_settings(row, actor=world.admin, is_second_factor_required=True)


def list_page_paths() -> list[str]:
    """The path of every page of the console, with ones for whatever it names."""
    found: list[str] = []

    def walk(patterns: list[URLPattern | URLResolver], before: str) -> None:
        for each in patterns:
            path = before + re.sub(r"<\w+:\w+>|<\w+>|\(\?P<\w+>[^)]*\)", "1", str(each.pattern))
            if isinstance(each, URLResolver):
                walk(each.url_patterns, path)
            elif each.name not in VIEWS_BEFORE_CODE and "^" not in path:
                found.append(f"/{path}")

    walk(get_resolver().url_patterns, "")
    return [path for path in found if path.startswith(HOME)]


def test_a_code_is_asked_for_behind_the_password_and_leads_where_one_was_going(half: Client, device: Device) -> None:
    wanted = f"{list_of(Membership)}?role=admin"
    asked = half.get(wanted)
    assert asked["Location"].startswith(CODE)
    page = half.get(asked["Location"])
    assert "Enter the code that your authenticator app shows" in page_words(page)
    answer = half.post(CODE, {"code": device.code(), "next": wanted})
    assert (answer.status_code, answer["Location"]) == (303, wanted)
    assert half.get(wanted).status_code == 200
    assert half.get(CODE)["Location"] == HOME


@pytest.mark.slow
def test_no_page_opens_by_half_and_nothing_is_done(half: Client) -> None:
    every = list_page_paths()
    assert len(every) > 150
    for path in every:
        read, written = half.get(path), half.post(path, {"code": "1"})
        for answer in (read, written):
            assert answer.status_code in {301, 303}, path
            assert answer["Location"].startswith((CODE, path)), path


def test_the_api_takes_no_half_signed_in_person(half: Client, device: Device) -> None:
    refused = half.get("/api/v1/skills/")
    assert refused.status_code == 403
    assert "Enter the code of your second factor" in refused.json()["detail"]
    half.post(CODE, {"code": device.code()})
    assert half.get("/api/v1/skills/").status_code == 200


def test_neither_a_login_link_nor_an_old_session_is_a_way_around(world: World, operator: Client) -> None:
    assert operator.get(HOME).status_code == 200
    with_device(world.operator_user)
    assert operator.get(HOME)["Location"].startswith(CODE)
    linked = Client()
    linked.post(login_link_path(world.operator_user))
    assert linked.get(HOME)["Location"].startswith(CODE)


def test_platform_staff_enter_nowhere_before_a_code(world: World) -> None:
    root = make_staff()
    with_device(root)
    client = signed_in(root)
    assert client.get(reverse("admin:switch_tenant"))["Location"].startswith(CODE)
    answer = client.post(reverse("admin:switch_tenant"), {"key": world.tenant.key, "reason": "To look."})
    assert answer["Location"] == CODE


def test_wrong_codes_wait_and_a_right_one_is_not_looked_at_then(half: Client, device: Device) -> None:
    for _ in range(ATTEMPTS_PER_NAME):
        refused = half.post(CODE, {"code": "000000"})
        assert refused.status_code == 422
        assert "This is not the current code." in page_words(refused)
    assert "Too many attempts. Wait 30 seconds, then try again." in page_words(half.post(CODE, {"code": device.code()}))
    assert "This field is required" in page_words(half.post(CODE, {}))
    assert half.get(HOME)["Location"].startswith(CODE)


def test_a_code_is_good_for_one_session_alone(half: Client, device: Device, world: World) -> None:
    code = device.code()
    half.post(CODE, {"code": code})
    another = signed_in(world.operator_user)
    assert "a code works once" in page_words(another.post(CODE, {"code": code}))
    assert another.get(HOME)["Location"].startswith(CODE)


def test_a_recovery_code_lets_in_once_and_says_how_many_are_left(half: Client, device: Device) -> None:
    half.post(CODE, {"code": device.recovery[0]})
    assert "That recovery code is used up; 9 are left." in page_words(half.get(HOME))


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_a_code_leads_nowhere_else(half: Client, device: Device, target: str) -> None:
    assert half.post(CODE, {"code": device.code(), "next": target})["Location"] == HOME


def shown_secret(client: Client) -> Device:
    """What an app reads off the page."""
    [groups] = re.findall(r'class="pc-shared-key">([^<]*)<', page_text(client.get(FACTOR)))
    return Device("".join(groups.split()), [])


@pytest.mark.slow
def test_a_person_sets_one_up_with_password_and_code_and_keeps_ten_recovery_codes(
    world: World, operator: Client
) -> None:
    page = operator.get(FACTOR)
    assert 'aria-label="The key below, for a camera"><svg' in page_text(page)
    phone = shown_secret(operator)
    assert phone == shown_secret(operator), "a page that is loaded again goes on with the same"
    for typed in (
        {"code": phone.code()},
        {"code": "000000", "password": PASSWORD},
        {"code": phone.code(), "password": "x"},
    ):
        assert operator.post(FACTOR, typed).status_code == 422
    assert recovery_codes_left(world.operator_user) == 0
    done = operator.post(FACTOR, {"code": phone.code(), "password": PASSWORD})
    codes = re.findall(r"<code>([a-z0-9]{5}-[a-z0-9]{5})</code>", page_text(done))
    assert len(set(codes)) == RECOVERY_CODES
    assert "no-store" in done["Cache-Control"]
    assert operator.get(HOME).status_code == 200, "it was shown in this session"
    kept = page_text(operator.get(FACTOR))
    assert not any(code in kept for code in codes)
    assert phone.secret not in kept
    assert "10 recovery codes are left." in kept


def test_a_person_without_password_sets_one_up_with_a_code_alone(world: World, operator: Client) -> None:
    User.objects.filter(pk=world.operator_user.pk).update(password="!")
    world.operator_user.refresh_from_db()
    client = signed_in(world.operator_user)
    phone = shown_secret(client)
    assert "Keep these codes now." in page_words(client.post(FACTOR, {"code": phone.code()}))


def test_renewing_and_removing_ask_for_a_code(half: Client, device: Device, world: World) -> None:
    half.post(CODE, {"code": device.code()})
    assert half.post(FACTOR, {"code": device.code(), "remove": "1"}).status_code == 422, "it was used to sign in"
    renewed = half.post(FACTOR, {"code": device.recovery[0], "renew": "1"})
    fresh = re.findall(r"<code>([a-z0-9]{5}-[a-z0-9]{5})</code>", page_text(renewed))
    assert half.post(FACTOR, {"code": device.recovery[1], "remove": "1"}).status_code == 422
    assert half.post(FACTOR, {"code": fresh[0], "remove": "1"})["Location"] == FACTOR
    assert "Second factor removed." in page_words(half.get(HOME))
    assert signed_in(world.operator_user).get(HOME).status_code == 200


def test_nothing_is_set_up_where_nothing_can_be_sealed(operator: Client, settings: Settings) -> None:
    settings.SEALING_KEYS = []
    page = operator.get(FACTOR)
    assert page.status_code == 409
    assert "SEALING_KEYS is not set. Ask the operator of the installation to set it." in page_words(page)


def test_an_admins_reset_drops_it_and_the_list_says_who_has_one(world: World, admin: Client) -> None:
    with_device(world.operator_user)
    member = member_of(world, world.operator_user)
    assert "yes" in page_words(admin.get(f"{list_of(Membership)}?role=operator"))
    decide(admin, member, "reset")
    world.operator_user.refresh_from_db()
    assert world.operator_user.second_factor_enabled_at is None
    linked = Client()
    linked.post(login_link_path(world.operator_user))
    assert linked.get(FACTOR).status_code == 200


def test_a_tenant_that_insists_opens_to_nobody_without_one(world: World, operator: Client) -> None:
    require_second_factor(world)
    for path in (HOME, reverse("admin:health"), list_of(Membership)):
        assert operator.get(path)["Location"] == f"{FACTOR}?needed=1"
    assert "Your tenant asks for a second factor." in page_words(operator.get(f"{FACTOR}?needed=1"))
    assert operator.get(reverse("admin:password_change")).status_code == 200
    refused = operator.get("/api/v1/skills/")
    assert (refused.status_code, "This tenant requires a second factor." in refused.json()["detail"]) == (403, True)
    phone = shown_secret(operator)
    operator.post(FACTOR, {"code": phone.code(), "password": PASSWORD})
    assert operator.get(HOME).status_code == 200
    assert operator.get("/api/v1/skills/").status_code == 200
