"""Two sessions compared, asked by REST."""

import pytest

from apps.personas.actions import amend_persona
from apps.tenants.actions import amend_agent
from tests.support.drivers.conversation import run_customer_turn
from tests.support.drivers.rest_client import RestClient, person_client
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_persona


@pytest.mark.slow
def test_it_names_each_difference_with_its_causes(world: World, operator: RestClient, standin: StandIn) -> None:
    amend_agent(world.agent, actor=world.admin, session_idle_seconds=0)
    persona = make_persona(world, style="Brief.")
    one = run_customer_turn(world, "Hello", standin).session_id
    path = f"sessions/{one}/apart/"
    same = operator.get(path).body
    assert (same["is_same"], same["hunks"], same["reordered"], same["other_differences"]) == (True, [], None, [])
    amend_persona(persona, actor=world.operator, values={"style": "Warm."})
    [hunk] = operator.get(path).body["hunks"]
    assert (hunk["slot"], hunk["removed"], hunk["added"], hunk["explanation"]) == (1, ["Brief."], ["Warm."], "")
    [cause] = hunk["causes"]
    assert (cause["act"], cause["record_type"], cause["record_id"]) == ("persona.amend", "personas.persona", persona.pk)
    assert (cause["version"], cause["author"], cause["approver"]) == (2, world.operator.label, world.operator.label)
    two = run_customer_turn(world, "And now?", standin).session_id
    [back] = operator.get(f"sessions/{two}/apart/?with={one}").body["hunks"]
    assert (back["removed"], back["added"]) == (["Warm."], ["Brief."])


def test_what_no_act_explains_is_said(world: World, operator: RestClient, standin: StandIn) -> None:
    amend_agent(world.agent, actor=world.admin, session_idle_seconds=0)
    one = run_customer_turn(world, "Hello", standin).session_id
    make_persona(world, style="Brief.")
    body = operator.get(f"sessions/{one}/apart/").body
    assert body["is_same"] is False
    assert any(hunk["causes"] for hunk in body["hunks"])


@pytest.mark.parametrize(
    ("query", "field"), [("with=one", "with"), ("with=0", "with"), ("with=999999", "with"), ("at=1", "at")]
)
def test_nonsense_is_refused_at_its_parameter(
    world: World, operator: RestClient, standin: StandIn, query: str, field: str
) -> None:
    answer = operator.get(f"sessions/{run_customer_turn(world, 'Hello', standin).session_id}/apart?{query}")
    assert answer.code == "invalid"
    assert field in answer.body["errors"]


def test_agents_and_strangers_do_not_read_it(
    world: World, other: World, bot: RestClient, standin: StandIn
) -> None:  # R006
    path = f"sessions/{run_customer_turn(world, 'Hello', standin).session_id}/apart"
    assert bot.get(path).code == "not_permitted"
    assert person_client(other.operator_user).get(path).code == "not_found"
