"""Every page says what is stopped for now."""

import pytest
from django.test import Client
from django.urls import reverse

from apps.kill_switches.actions import activate_kill_switch, deactivate_kill_switch
from apps.kill_switches.models import KillSwitch
from tests.support.drivers.console_client import page_of, page_words, signed_in
from tests.support.worlds.world import make_switch, make_world

pytestmark = pytest.mark.django_db

BANNER_PAGES = ("admin:index", "admin:skills_skill_changelist", "admin:tenants_agent_changelist", "admin:switch_tenant")


def test_every_page_says_what_is_stopped_until_it_is_lifted() -> None:
    world = make_world()
    client = Client()
    client.force_login(world.operator_user)
    switch = make_switch(world)
    for place in BANNER_PAGES[:3]:
        page = client.get(reverse(place)).content.decode()
        assert "Answering is paused for agent support." in page
        assert reverse("admin:kill_switches_killswitch_change", args=[switch.pk]) in page
    deactivate_kill_switch(switch, actor=world.operator)
    assert "is paused" not in client.get(reverse(BANNER_PAGES[0])).content.decode()


def test_a_page_outside_the_books_asks_for_no_switch() -> None:
    world = make_world()
    make_switch(world)
    client = Client()
    client.force_login(world.operator_user)
    assert client.get(reverse(BANNER_PAGES[3])).status_code == 200


@pytest.mark.parametrize(
    ("kind", "expected"),
    [(KillSwitch.Kind.PAUSE_SENDING, "as a draft"), (KillSwitch.Kind.PAUSE_AGENT, "No turn begins")],
)
def test_the_page_of_a_switch_says_what_it_stops(kind: KillSwitch.Kind, expected: str) -> None:
    world = make_world()
    client = signed_in(world.operator_user)
    other = {"as a draft", "No turn begins"} - {expected}
    shown = page_words(client.get(page_of(activate_kill_switch(kind, actor=world.operator, reason="Rest."))))
    assert expected in shown
    assert not any(words in shown for words in other)
