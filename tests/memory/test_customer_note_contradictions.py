"""Lines noted of one customer that do not fit each other (R161)."""

import pytest
from django.test import Client

from apps.governance.database.actor_transaction import acting_as
from apps.learning.contradictions.memory_warnings import add_profile_warnings, profile_contradictions, profile_texts
from apps.memory.actions import amend_profile, create_profile
from apps.memory.models import CustomerProfile
from tests.support.drivers.console_client import page_of, page_text
from tests.support.drivers.conversation import calls, reply, run_customer_turn, tool
from tests.support.drivers.rest_client import person_client
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_memory, make_world

pytestmark = pytest.mark.django_db

SIX, TWELVE = "Their contract runs for six months.", "Their contract runs for twelve months."
CUSTOMER = "http:ada"


@pytest.fixture
def world() -> World:
    return make_world()


def profile_of(world: World, notes: str, preferences: str = "") -> CustomerProfile:
    return create_profile(CUSTOMER, actor=world.operator, values={"notes": notes, "preferences": preferences})


def test_lines_of_both_texts_are_compared(world: World) -> None:
    profile = profile_of(world, SIX, TWELVE)
    (clash,) = profile_contradictions(profile)
    assert {clash.line, clash.other} == {SIX.rstrip("."), TWELVE.rstrip(".")}
    assert clash.kind == "amount"
    assert profile_contradictions(profile_of(make_world(), SIX)) == ()


def test_other_customers_and_agent_knowledge_are_not_compared(world: World) -> None:
    make_memory(world, TWELVE)
    create_profile("http:eve", actor=world.operator, values={"notes": TWELVE, "preferences": ""})
    profile = profile_of(world, SIX)
    assert profile_contradictions(profile) == ()
    assert add_profile_warnings("Saved.", profile, {}) == "Saved."


def test_only_what_is_new_is_pointed_out(world: World) -> None:
    profile = profile_of(world, f"{SIX}\n{TWELVE}")
    assert add_profile_warnings("", profile, profile_texts(profile)) == ""
    amend_profile(profile, actor=world.operator, values={"notes": SIX, "preferences": "Calls tomorrow."})
    assert "write its date" in add_profile_warnings("", profile, {"notes": SIX})


def test_the_agent_is_told_and_its_line_is_saved(world: World, standin: StandIn) -> None:
    profile_of(world, SIX)
    standin.play(tool("update_customer_profile", notes=TWELVE), reply("Done."))
    [call] = calls(world, run_customer_turn(world, "Hello", standin, customer=CUSTOMER))
    assert not call["is_error"]
    assert "look again" in call["result"]
    assert "do not fit together (amount)" in call["result"]
    with acting_as(world.operator):
        assert TWELVE in CustomerProfile.objects.get().notes


def test_people_read_it_in_the_notice_and_on_the_page(world: World) -> None:
    profile, operator = profile_of(world, SIX), person_client(world.operator_user)
    response = operator.patch(f"profiles/{profile.pk}/", {"notes": f"{SIX}\n{TWELVE}"})
    assert (response.status, "do not fit together (amount)" in response.body["notice"]) == (200, True)
    made = operator.post("profiles/", {"end_user_key": "http:bob", "notes": f"{SIX}\n{TWELVE}"})
    assert (made.status, "do not fit" in made.body["notice"]) == (201, True)
    console = Client()
    console.force_login(world.operator_user)
    assert "These lines may not fit each other." in page_text(console.get(page_of(profile)))
