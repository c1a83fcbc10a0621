"""Where a person is signed in: their own browsers, which they see and end."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth import SESSION_KEY
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.tenants.session_store import DEVICE_CHARACTERS, BrowserSession
from tests.support.database.raw_sql_as_role import NO_RIGHT, run_and_undo
from tests.support.drivers.console_client import page_text, page_words
from tests.support.worlds.world import PASSWORD, World, make_world

HOME, PAGE = reverse("admin:index"), reverse("admin:browser_sessions")


def browser(world: World, device: str, address: str = "192.0.2.7") -> Client:
    """Signed in with name and password, as this browser."""
    client = Client(headers={"user-agent": device}, REMOTE_ADDR=address)
    typed = {"username": world.operator_user.username, "password": PASSWORD, "next": HOME}
    client.post(reverse("admin:login"), typed)
    assert client.get(HOME).status_code == 200
    return client


def names(client: Client) -> list[str]:
    """What each button to sign out elsewhere names."""
    return re.findall(r'name="end"\s+value="(\w+)"', page_text(client.get(PAGE)))


@pytest.mark.slow
def test_each_browser_is_shown_with_where_it_is_and_one_is_signed_out(world: World) -> None:
    desk, phone = browser(world, "Desk 1.0"), browser(world, "Phone 2.0", "198.51.100.9")
    shown = page_words(desk.get(PAGE))
    assert re.search(r"Desk 1\.0 192\.0\.2\.7 .* this one", shown)
    assert re.search(r"Phone 2\.0 198\.51\.100\.9 .* Sign out there", shown)
    [name] = names(desk)
    assert "That browser is signed out." in page_words(desk.post(PAGE, {"end": name}, follow=True))
    assert phone.get(HOME).status_code == 302
    assert desk.get(HOME).status_code == 200
    assert "That session had already ended." in page_words(desk.post(PAGE, {"end": name}, follow=True))


@pytest.mark.slow
def test_all_others_are_signed_out_at_once(world: World) -> None:
    desk, *others = [browser(world, f"Browser {number}") for number in range(3)]
    assert "Other browsers signed out: 2." in page_words(desk.post(PAGE, {"others": "1"}, follow=True))
    assert [each.get(HOME).status_code for each in (desk, *others)] == [200, 302, 302]
    assert "Sign out everywhere else" not in page_text(desk.get(PAGE))
    assert "You were not signed in anywhere else." in page_words(desk.post(PAGE, {"others": "1"}, follow=True))


@pytest.mark.slow
def test_nobody_sees_or_ends_anothers(world: World) -> None:
    mine, theirs = browser(world, "Mine"), browser(make_world(), "Theirs")
    second = browser(world, "Second")
    [name] = names(mine)
    assert "Mine" not in page_words(theirs.get(PAGE))
    theirs.post(PAGE, {"end": name})
    theirs.post(PAGE, {"others": "1"})
    assert [each.get(HOME).status_code for each in (mine, second)] == [200, 200]
    assert Client().get(PAGE)["Location"] == reverse("admin:login")


def test_the_page_names_no_key_that_would_sign_in(world: World) -> None:
    desk, phone = browser(world, "Desk"), browser(world, "Phone")
    page = page_text(desk.get(PAGE))
    assert all(str(each.session.session_key) not in page for each in (desk, phone))


def test_what_a_browser_says_of_itself_is_cut_and_escaped(world: World) -> None:
    desk = browser(world, "<script>alert(1)</script>" + "x" * 500)
    page = desk.get(PAGE).content.decode()
    assert "<script>alert(1)" not in page
    [row] = BrowserSession.objects.all()
    assert len(row.device) == DEVICE_CHARACTERS


def test_use_is_noted_every_few_minutes_and_what_ran_out_goes(world: World) -> None:
    desk, over = browser(world, "Desk"), browser(world, "Over")
    BrowserSession.objects.filter(device="Over").update(expire_date=timezone.now() - timedelta(seconds=1))
    first = BrowserSession.objects.get(device="Desk").last_seen_at
    assert names(desk) == []
    desk.get(HOME)
    assert BrowserSession.objects.get(device="Desk").last_seen_at == first
    session = desk.session
    session["last_seen_at"] = (timezone.now() - timedelta(minutes=6)).isoformat()
    session.save()
    desk.get(HOME)
    again = BrowserSession.objects.get(device="Desk").last_seen_at
    assert first is not None
    assert again is not None
    assert again > first
    assert not BrowserSession.objects.filter(device="Over").exists()
    assert over.get(HOME).status_code == 302


def test_a_session_before_anybody_signs_in_is_nobodys(world: World) -> None:
    client = Client()
    session = client.session
    session["thought"] = 1
    session.save()
    [row] = BrowserSession.objects.all()
    assert (row.user_id, row.last_seen_at) == (None, None)
    assert SESSION_KEY not in session


@pytest.mark.parametrize("statement", ["SELECT 1 FROM tenants_browsersession", "DELETE FROM tenants_browsersession"])
def test_only_the_login_reads_them(world: World, statement: str) -> None:
    for actor in (world.bot, world.operator, world.admin, world.system):
        assert run_and_undo(actor, statement).sqlstate == NO_RIGHT
