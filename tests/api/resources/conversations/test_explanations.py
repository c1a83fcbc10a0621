"""Why an agent said something, asked by REST."""

import pytest

from tests.support.drivers.rest_client import RestClient, person_client
from tests.support.factories.explained_replies import (
    QUESTION,
    REPLY_TEXT,
    RULE,
    ExplainedReply,
    explain,
    make_prompt_context,
)
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World


@pytest.fixture
def explained(world: World, standin: StandIn) -> ExplainedReply:
    make_prompt_context(world)
    return explain(world, standin)


def test_it_names_everything_that_stood_before_the_model(explained: ExplainedReply, operator: RestClient) -> None:
    answer = operator.get(f"turns/{explained.turn.pk}/why/")
    assert answer.status == 200
    body = answer.body
    assert (body["reply"], body["outcome"], body["send_mode"], body["sent_by"]) == (
        REPLY_TEXT,
        "replied",
        "autonomous",
        "",
    )
    assert [event["text"] for event in body["events"]] == [QUESTION]
    assert (body["conversation_id"], body["session_id"]) == (explained.conversation.pk, explained.turn.session_id)
    assert [call["name"] for call in body["tool_calls"]] == ["get_skill"]
    assert body["usage"]["calls"] == 2
    first = body["sources"][0]
    assert (first["place"], first["slot"], first["record_type"]) == ("prompt", 2, "personas.standingrule")
    assert (first["text"], first["version"], first["approver"]) == (RULE, 1, explained.world.operator.label)
    [stretch] = first["in_reply"]
    assert REPLY_TEXT[stretch["start"] : stretch["end"]] == "Goods may be returned within 14 days"
    [stretch] = first["in_text"]
    assert RULE[stretch["start"] : stretch["end"]] == "Goods may be returned within 14 days"
    read = next(each for each in body["sources"] if each["place"] == "skill")
    assert (read["record_id"], read["version"]) == (explained.skill.pk, explained.skill.version)
    assert read["approver"] == explained.world.operator.label
    asked = next(
        each["text"] for each in body["sources"] if each["text"].endswith(QUESTION) and each["place"] == "turn"
    )
    assert asked.splitlines()[-1] == QUESTION, "what was asked stands on a line of its own, below who asked it"
    assert len(asked.splitlines()) == 2
    shares = [each["overlap"] for each in body["sources"]]
    assert shares == sorted(shares, reverse=True)
    assert {each["slot"] for each in body["sources"]} >= {0, 1, 2, 3, 5, 6, None}


def test_agents_strangers_and_turns_off_the_record_are_refused(
    explained: ExplainedReply, other: World, bot: RestClient, operator: RestClient
) -> None:  # R006
    path = f"turns/{explained.turn.pk}/why"
    assert bot.get(path).code == "not_permitted"
    assert person_client(other.operator_user).get(path).code == "not_found"
    assert operator.get("turns/999999/why").code == "not_found"


def test_off_the_record_is_as_if_there_were_none(world: World, operator: RestClient, standin: StandIn) -> None:
    turn = explain(world, standin, off_the_record=True).turn
    assert operator.get(f"turns/{turn.pk}/why/").code == "not_found"
