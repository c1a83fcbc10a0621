"""Who was told a row, asked by REST."""

import pytest

from apps.personas.actions import amend_persona
from tests.support.drivers.conversation import run_customer_turn
from tests.support.drivers.rest_client import RestClient, person_client
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_persona


def test_it_names_the_sessions_and_counts_those_of_thirty_days(
    world: World, operator: RestClient, standin: StandIn
) -> None:
    persona = make_persona(world, style="Brief.")
    turn = run_customer_turn(world, "Hello", standin)
    amend_persona(persona, actor=world.operator, values={"style": "Rhyming."})
    path = f"personas/{persona.pk}/carried/"
    body = operator.get(path).body
    assert (body["sessions_30_days"], body["conversations_30_days"], body["versions"]) == (1, 1, [1])
    assert (body["has_more"], body["is_truncated"]) == (False, False)
    [carrier] = body["results"]
    assert (carrier["session_id"], carrier["conversation_id"]) == (turn.session_id, turn.conversation_id)
    assert (carrier["agent_key"], carrier["versions"]) == ("support", [1])
    assert operator.get(f"{path}?version=2").body["results"] == []
    assert len(operator.get(f"{path}?line=Brief.&version=1").body["results"]) == 1


@pytest.mark.parametrize(("query", "field"), [("version=one", "version"), ("version=0", "version"), ("at=1", "at")])
def test_nonsense_is_refused_at_its_parameter(world: World, operator: RestClient, query: str, field: str) -> None:
    answer = operator.get(f"personas/{make_persona(world).pk}/carried?{query}")
    assert answer.code == "invalid"
    assert field in answer.body["errors"]


def test_agents_and_strangers_do_not_read_it(world: World, other: World, bot: RestClient) -> None:  # R006
    path = f"personas/{make_persona(world).pk}/carried"
    assert bot.get(path).code == "not_permitted"
    assert person_client(other.operator_user).get(path).code == "not_found"
