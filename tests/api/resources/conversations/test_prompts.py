"""What an agent is told, asked by REST: now, and as of a moment."""

import hashlib

import pytest
from django.utils import timezone

from apps.launcher.postgres import Postgres
from apps.personas.actions import amend_persona
from tests.governance.audit.test_row_history import erase_change
from tests.restore.restore_scenario import CUSTOMER, current_prompt, make_prompt_rows
from tests.support.drivers.rest_client import RestClient, agent_client, person_client
from tests.support.worlds.world import World, make_persona, make_world


def test_the_prompt_of_now_has_an_owner_for_every_byte(world: World, operator: RestClient) -> None:
    make_prompt_rows(world)
    answer = operator.get(f"agents/{world.agent.pk}/prompt?end_user_key={CUSTOMER}")
    assert answer.status == 200
    body = answer.body
    assert body["text"] == current_prompt(world) == "".join(block["text"] for block in body["blocks"])
    assert body["sha256"] == hashlib.sha256(body["text"].encode()).hexdigest()
    assert (body["agent_key"], body["as_of"], body["end_user_key"]) == ("support", None, CUSTOMER)
    owners = [owner for block in body["blocks"] for owner in block["owners"]]
    assert [owner["start"] for owner in owners] == [0, *(owner["end"] for owner in owners[:-1])]
    assert owners[-1]["end"] == len(body["text"].encode())
    persona = next(owner for owner in owners if owner["record_type"] == "personas.persona")
    assert (persona["field"], persona["version"], persona["approver"]) == ("identity", 1, world.operator.label)
    assert {block["name"] for block in body["blocks"]} == {"persona", "contract", "skills", "memory", "profile"}


def test_as_of_a_moment_it_is_what_a_session_of_then_was_told(world: World, operator: RestClient) -> None:
    persona = make_persona(world, style="Brief.")
    before, moment = current_prompt(world), timezone.now()
    amend_persona(persona, actor=world.operator, values={"style": "Rhyming."})
    then = operator.get(f"agents/{world.agent.pk}/prompt/?as_of={moment.isoformat().replace('+', '%2B')}").body
    assert then["text"] == before
    assert then["as_of"] is not None
    assert "Rhyming." in operator.get(f"agents/{world.agent.pk}/prompt").body["text"]


def test_an_agent_reads_what_it_is_told_itself_and_not_whose_the_words_are(world: World, bot: RestClient) -> None:
    make_prompt_rows(world)
    answer = bot.get(f"agents/{world.agent.pk}/prompt?end_user_key={CUSTOMER}")
    assert answer.status == 200
    assert answer.body["text"] == current_prompt(world)
    assert [block["owners"] for block in answer.body["blocks"]] == [[]] * 5
    moment = timezone.now().isoformat().replace("+", "%2B")
    assert bot.get(f"agents/{world.agent.pk}/prompt?as_of={moment}").code == "not_permitted"


def test_strangers_do_not_read_it(world: World, other: World) -> None:  # R006
    path = f"agents/{world.agent.pk}/prompt"
    assert person_client(other.operator_user).get(path).code == "not_found"
    assert agent_client(other).get(path).code == "not_found"


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("as_of=yesterday", "as_of"),
        ("as_of=2999-01-01", "as_of"),
        ("as_of=2020-01-01", "as_of"),
        ("end_user_key=nobody", "end_user_key"),
        ("at=2026-01-01", "at"),
    ],
)
def test_nonsense_is_refused_at_its_parameter(world: World, operator: RestClient, query: str, field: str) -> None:
    answer = operator.get(f"agents/{world.agent.pk}/prompt?{query}")
    assert answer.code == "invalid"
    assert field in answer.body["errors"]


def test_a_past_whose_words_were_erased_is_not_guessed(committing: str, postgres: Postgres) -> None:
    world = make_world()
    persona = make_persona(world)
    moment = timezone.now().isoformat().replace("+", "%2B")
    amend_persona(persona, actor=world.operator, values={"style": "Rhyming."})
    erase_change(postgres, committing, world, persona, 1)
    answer = person_client(world.operator_user).get(f"agents/{world.agent.pk}/prompt?as_of={moment}")
    assert (answer.status, answer.code) == (410, "text_erased")
