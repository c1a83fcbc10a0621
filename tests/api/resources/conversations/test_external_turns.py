"""Sessions over REST for agents that run elsewhere: opened, worked in, reported."""

from typing import Any

import pytest

from apps.conversations.models import Conversation
from apps.governance.database.actor_transaction import acting_as
from apps.tenants.actions import amend_agent
from tests.support.drivers.rest_client import Answer, RestClient
from tests.support.factories.external_turns import CUSTOMER, model_answer, tool_call_answer, tool_result
from tests.support.factories.lessons import make_edited_draft, make_version
from tests.support.worlds.world import World, make_persona, make_skill

HELLO = {
    "conversation_key": "thread-9",
    "end_user_key": CUSTOMER,
    "messages": [{"text": "Where is my parcel?", "idempotency_key": "m1", "sender_name": "Kim"}],
}


def open_session(bot: RestClient, **more: Any) -> dict[str, Any]:
    answer = bot.post("sessions/", {**HELLO, **more})
    assert answer.status == 200, answer.body
    out: dict[str, Any] = answer.body
    return out


def report(bot: RestClient, out: dict[str, Any], *messages: dict[str, Any], key: str = "r1", **more: Any) -> Answer:
    body = {"turn_id": out["turn"]["id"], "messages": messages, **more}
    return bot.post(out["report"], body, Idempotency_Key=key)


@pytest.mark.slow
def test_session_is_opened_worked_in_and_reported(world: World, bot: RestClient, operator: RestClient) -> None:
    make_persona(world)
    skill = make_skill(world, "approved")
    out = open_session(bot)
    assert [message["role"] for message in out["messages"]] == ["user"]
    assert "Where is my parcel?" in out["turn"]["user_turn"]["text"]
    assert "Kim" in out["turn"]["user_turn"]["text"]
    assert any("cache_control" in block for block in out["system"])
    assert "get_skill" in [tool["name"] for tool in out["tools"]]
    call = {"turn_id": out["turn"]["id"], "call_id": "c1", "name": "get_skill", "input": {"skill_id": skill.pk}}
    made = bot.post(out["calls"], call)
    assert (made.status, made.body["is_error"], skill.title in made.body["content"]) == (200, False, True)
    response = report(
        bot,
        out,
        tool_call_answer("get_skill", "c1", skill_id=skill.pk),
        tool_result("c1", made.body["content"]),
        model_answer("In Lyon."),
    )
    assert (response.status, response.body["may_send"], response.body["outcome"]) == (200, True, "replied")
    assert response.body["cost_micro_usd"] > 0
    [event_id] = out["turn"]["event_ids"]
    assert bot.get(f"events/{event_id}/").body["reply"]["text"] == "In Lyon."
    assert operator.get(f"skills/{skill.pk}/").body["use_count"] == 1
    shown = operator.get(f"sessions/{out['id']}/").body
    assert shown["prefix_sha256"] == out["prefix_sha256"]
    assert operator.get(f"conversations/{out['conversation_id']}/").body["has_external_agent"] is True
    assert operator.get(f"turns/{out['turn']['id']}/why/").body["reply"] == "In Lyon."


def test_learned_content_of_a_turn_is_listed_separately(world: World, bot: RestClient, operator: RestClient) -> None:
    # R145, R164
    make_version(world, "active")
    make_edited_draft(world)
    amend_agent(world.agent, actor=world.admin, send_mode="suggest")
    out = open_session(bot, off_the_record=False)
    framed = out["turn"]["user_turn"]
    assert framed["learning"]
    assert all(bullet in framed["text"] for bullet in framed["learning"])
    assert framed["delivery_directive"]
    assert framed["delivery_directive"] in framed["text"]
    assert framed["date_line"] in framed["text"]
    assert framed["off_the_record_line"] == ""
    assert all({"draft", "correction"} <= set(each) for each in framed["corrections"])
    report(bot, out, model_answer("In Lyon."))
    [read] = operator.get(f"sessions/{out['id']}/").body["retrieval"]
    assert read["learning_version_id"] == out["turn"]["learning_version_id"]
    assert read["bullet_count"] == len(framed["learning"])


def test_off_the_record_a_line_says_so(bot: RestClient) -> None:
    # R060
    framed = open_session(bot, off_the_record=True)["turn"]["user_turn"]
    assert "off the record" in framed["off_the_record_line"].lower()


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"agent_key": "billing"}, "agent_key"),
        ({"messages": [{"text": "Hi"}]}, "messages.0"),
        ({"messages": [{"text": "Hi", "idempotency_key": "k", "role": "operator"}]}, "messages.0"),
        ({"messages": [{"text": " ", "idempotency_key": "k"}]}, "text"),
        ({"messages": ["Hi"]}, "messages"),
        ({"messages": [{"text": "Hi", "idempotency_key": str(each)} for each in range(21)]}, "messages"),
        ({"conversation_key": ""}, "conversation_key"),
        ({"channel": "playground"}, "channel"),
        ({"end_user_key": "slack:U1"}, "end_user_key"),
        ({"user_hash": "0" * 64}, "user_hash"),
    ],
)
def test_opening_that_cannot_be_taken_names_what_is_wrong(bot: RestClient, body: dict[str, Any], named: str) -> None:
    answer = bot.post("sessions/", {**HELLO, **body})
    assert (answer.status, answer.code) == (400, "invalid")
    assert any(name.startswith(named) for name in answer.body["errors"]), answer.body


def test_report_needs_a_key_and_the_same_one_again_is_the_same_report(bot: RestClient) -> None:
    out = open_session(bot)
    body = {"turn_id": out["turn"]["id"], "messages": [model_answer("In Lyon.")]}
    assert bot.post(out["report"], body).body["errors"].keys() == {"idempotency_key"}
    first, again = report(bot, out, model_answer("In Lyon.")), report(bot, out, model_answer("In Lyon."))
    assert (first.status, first.body) == (200, again.body)
    other = report(bot, out, model_answer("In Lyon."), key="r2")
    assert (other.status, other.code) == (409, "conflict")


def test_message_for_us_on_its_thread_is_refused_with_what_to_do(world: World, bot: RestClient) -> None:
    out = open_session(bot)
    answer = bot.post(
        "messages/", {"conversation_key": "thread-9", "text": "Hello?", "end_user_key": CUSTOMER}, Idempotency_Key="x"
    )
    assert (answer.status, answer.code) == (409, "conflict")
    assert "Send the message to sessions/" in answer.body["detail"]
    with acting_as(world.system):
        assert Conversation.objects.get(pk=out["conversation_id"]).has_external_agent


def test_tool_that_the_session_does_not_name_answers_so(bot: RestClient) -> None:
    out = open_session(bot)
    call = {"turn_id": out["turn"]["id"], "call_id": "c", "name": "approve_skill", "input": {}}
    made = bot.post(out["calls"], call)
    assert (made.body["is_error"], "There is no tool approve_skill" in made.body["content"]) == (True, True)
