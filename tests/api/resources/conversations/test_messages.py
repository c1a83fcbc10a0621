"""Messages over REST: taken once, answered by a turn, waited for if asked (R126, R127)."""

import time
from typing import Any

import pytest
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from apps.conversations.models import InboundEvent
from apps.desk.models import Draft
from apps.governance.database.actor_transaction import acting_as
from apps.llm.model_backend import JsonObject, ModelRequest, StopReason, Usage
from apps.llm.model_backend import ModelReply as Said
from apps.personas.actions import create_identity_card
from apps.runtime.turns.operator_replies import send_reviewed_draft
from apps.runtime.worker.sync_driver import answer_conversation as run_turn
from apps.tenants.actions import amend_agent
from tests.support.drivers.rest_client import Answer, RestClient, answer_event, fail_event
from tests.support.worlds.world import World, make_conversation, make_neighbour

HELLO = {
    "conversation_key": "thread-1",
    "end_user_key": "http:abc123",
    "sender_name": "Kim",
    "text": "Where is my parcel?",
}


def send(asker: RestClient, key: str = "k1", query: str = "", **body: Any) -> Answer:
    return asker.post(f"messages/{query}", {**HELLO, **body}, Idempotency_Key=key)


def event_of(world: World, answer: Answer) -> InboundEvent:
    with acting_as(world.system):
        return InboundEvent.objects.get(pk=answer.body["event_id"])


def test_message_is_taken_and_says_where_to_look(bot: RestClient) -> None:
    # R126
    answer = send(bot)
    assert (answer.status, answer.body["status"]) == (202, "queued")
    assert answer.headers["Location"] == answer.body["poll"]
    assert "reply" not in answer.body
    looked = bot.get(answer.body["poll"])
    assert (looked.status, looked.body) == (200, answer.body)
    [conversation] = bot.get("conversations/").body["results"]
    assert conversation["id"] == answer.body["conversation_id"]
    assert (conversation["channel"], conversation["end_user_key"]) == ("http", "http:abc123")


def test_worker_is_woken_once_the_message_stands_and_a_dead_broker_does_no_harm(
    bot: RestClient, settings: Settings, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    # R118: nothing listens on the test run's broker address.
    with django_capture_on_commit_callbacks(execute=True) as callbacks:
        answer = send(bot)
    assert (answer.status, len(callbacks)) == (202, 1)


def test_same_key_is_the_same_message(bot: RestClient) -> None:
    first, second = send(bot), send(bot)
    assert first.body["event_id"] == second.body["event_id"]
    assert send(bot, key="k2").body["event_id"] != first.body["event_id"]


def test_other_words_under_the_same_key_are_refused(bot: RestClient) -> None:
    send(bot)
    answer = send(bot, text="Something else.")
    assert (answer.status, answer.code) == (409, "conflict")


def test_key_may_stand_in_the_body_and_the_header_wins(world: World, bot: RestClient) -> None:
    in_body = bot.post("messages/", {**HELLO, "idempotency_key": "k1"})
    assert in_body.status == 202
    assert send(bot, "k1").body["event_id"] == in_body.body["event_id"]
    assert event_of(world, send(bot, "k2", idempotency_key="k1")).idempotency_key == "k2"


@pytest.mark.parametrize("given", [{}, {"idempotency_key": ""}, {"idempotency_key": "x" * 201}])
def test_message_needs_a_key(bot: RestClient, given: dict[str, str]) -> None:
    answer = bot.post("messages/", {**HELLO, **given})
    assert (answer.status, list(answer.body["errors"])) == (400, ["idempotency_key"])


def test_key_in_the_header_has_a_length_too(bot: RestClient) -> None:
    assert list(send(bot, "x" * 201).body["errors"]) == ["idempotency_key"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("text", ""),
        ("text", "   "),
        ("text", "x" * 20_001),
        ("text", "\x00"),
        ("text", 5),
        ("conversation_key", ""),
        ("conversation_key", "x" * 201),
        ("conversation_key", "a\x00"),
        ("end_user_key", "slack:U1"),
        ("channel", "Über"),
        ("channel", ""),
        ("sender_name", "x" * 121),
        ("sender_name", "\ud800"),
    ],
)
def test_message_that_cannot_be_taken_says_why(bot: RestClient, field: str, value: Any) -> None:
    given = {"end_user_key": ""} if field == "channel" else {}
    answer = send(bot, **{**given, field: value})
    assert (answer.status, answer.code) == (400, "invalid")
    assert list(answer.body["errors"]) == [field]


def test_message_without_a_thread_is_refused_and_kept_nowhere(bot: RestClient) -> None:
    # R068: every message names its thread, so that what a session began with never lives in one process alone.
    answer = bot.post("messages/", {"text": "Hello", "end_user_key": "http:abc123", "idempotency_key": "k1"})
    assert (answer.status, list(answer.body["errors"])) == (400, ["conversation_key"])
    assert bot.get("conversations/").body["results"] == []


def test_thread_of_another_customer_is_refused(bot: RestClient) -> None:
    # R069
    send(bot)
    answer = send(bot, "k2", end_user_key="http:other")
    assert list(answer.body["errors"]) == ["end_user_key"]


def test_person_says_which_agent_a_message_is_for(world: World, operator: RestClient) -> None:
    assert list(send(operator).body["errors"]) == ["agent_key"]
    answer = send(operator, agent_key="support")
    assert answer.status == 202
    # What a person sends is an instruction, not a customer's words (R140).
    assert event_of(world, answer).kind == "operator"


def test_message_that_opens_a_conversation_takes_it_off_the_record(bot: RestClient) -> None:
    # R178
    private = send(bot, off_the_record=True)
    shown = bot.get(f"conversations/{private.body['conversation_id']}/").body
    assert shown["off_the_record"] is True
    assert send(bot, "k2", text="And another thing.").body["conversation_id"] == shown["id"]
    refused = send(bot, "k3", off_the_record=False)
    assert (refused.status, list(refused.body["errors"])) == (400, ["off_the_record"])
    ordinary = send(bot, "k4", conversation_key="thread-2")
    assert bot.get(f"conversations/{ordinary.body['conversation_id']}/").body["off_the_record"] is False


@pytest.mark.parametrize("value", ["true", 1, None, "off"])
def test_off_the_record_is_yes_or_no(bot: RestClient, value: Any) -> None:
    # R178
    assert list(send(bot, off_the_record=value).body["errors"]) == ["off_the_record"]


def test_message_says_which_line_it_came_in_on(world: World, bot: RestClient) -> None:
    # R133, R187
    assert event_of(world, send(bot, line="+34 600 000 001")).line_key == "+34 600 000 001"
    assert event_of(world, send(bot, "k2")).line_key == ""
    for line in ("x" * 81, "a\x00b", 5):
        assert list(send(bot, "k3", line=line).body["errors"]) == ["line"]


def test_a_message_on_another_agents_line_is_not_taken(world: World, bot: RestClient) -> None:
    # R133
    neighbour = make_neighbour(world)
    create_identity_card(neighbour.pk, actor=world.operator, values={"line_key": "billing"})
    answer = send(bot, line="billing")
    assert (answer.status, list(answer.body["errors"])) == (400, ["line"])
    assert "belongs to another agent" in answer.body["errors"]["line"][0]
    assert bot.get("conversations/").body["results"] == []


@pytest.mark.parametrize("wait", ["61", "-1", "x", "1.5", "", "٣", "9" * 50])
def test_wait_is_a_number_of_seconds(bot: RestClient, wait: str) -> None:
    answer = send(bot, query=f"?wait={wait}")
    assert (answer.status, list(answer.body["errors"])) == (400, ["wait"])
    assert bot.get("conversations/").body["results"] == []


def test_wait_answers_with_the_reply_and_what_it_took(world: World, bot: RestClient) -> None:
    # R166, R185
    turn = answer_event(world, event_of(world, send(bot)), "It is on its way.")
    answer = send(bot, query="?wait=30")
    assert (answer.status, answer.body["status"]) == (200, "done")
    reply = answer.body["reply"]
    assert reply["text"] == "It is on its way."
    assert (reply["model"], reply["is_stand_in"]) == ("stand-in", True)
    assert (reply["turn_id"], reply["session_id"]) == (turn.pk, turn.session_id)
    assert reply["usage"] == {
        "calls": 2,
        "input_tokens": 240,
        "output_tokens": 60,
        "cache_read_tokens": 1800,
        "cache_write_5m_tokens": 80,
        "cache_write_1h_tokens": 10,
        "cost_micro_usd": None,
    }
    assert bot.get(answer.body["poll"]).body == answer.body
    transcript = bot.get(f"messages/?conversation_id={answer.body['conversation_id']}").body["results"]
    assert [(line["sender"], line["text"]) for line in transcript] == [
        ("customer", "Where is my parcel?"),
        ("agent", "It is on its way."),
    ]
    assert transcript[-1]["id"] == reply["message_id"]
    assert bot.get(f"messages/{reply['message_id']}/").body == transcript[-1]


@pytest.mark.slow
def test_wait_that_was_too_short_says_where_to_look(bot: RestClient) -> None:
    begun = time.monotonic()
    answer = send(bot, query="?wait=1")
    assert (answer.status, answer.body["status"]) == (202, "queued")
    assert time.monotonic() - begun >= 1


def test_failed_turn_is_a_problem_for_its_waiter(world: World, bot: RestClient) -> None:
    sent = send(bot)
    fail_event(world, event_of(world, sent))
    answer = send(bot, query="?wait=5")
    assert (answer.status, answer.code, answer.body["failure_code"]) == (502, "turn_failed", "overloaded")
    looked = bot.get(sent.body["poll"])
    assert (looked.status, looked.body["status"]) == (200, "failed")
    assert looked.body["failure"] == {"code": "overloaded", "detail": "The provider has no capacity just now."}


def test_threads_of_one_person_do_not_share_a_transcript(world: World, bot: RestClient) -> None:
    # R069
    for thread in ("one", "two"):
        sent = send(bot, conversation_key=thread, text=f"About {thread}.")
        answer_event(world, event_of(world, sent), f"Answer {thread}.")
        transcript = bot.get(f"messages/?conversation_id={sent.body['conversation_id']}").body["results"]
        assert [line["text"] for line in transcript] == [f"About {thread}.", f"Answer {thread}."]


def test_message_after_the_end_opens_a_conversation_that_follows(bot: RestClient) -> None:
    # Z-15
    first = send(bot).body["conversation_id"]
    bot.patch(f"conversations/{first}/", {"status": "resolved"})
    second = send(bot, "k2").body["conversation_id"]
    assert bot.get(f"conversations/{second}/").body["follows_id"] == first


def test_transcript_is_asked_for_by_conversation_and_read_from_its_beginning(world: World, bot: RestClient) -> None:
    conversation = make_conversation(world)
    assert list(bot.get("messages/").body["errors"]) == ["conversation_id"]
    page = bot.get(f"messages/?conversation_id={conversation.pk}&page_size=3").body
    assert [line["position"] for line in page["results"]] == [0, 1, 2]
    assert page["results"][1]["tool_calls"][0]["name"] == "update_customer_profile"


class FixedReplyModel:
    """A model that says one thing."""

    def complete(self, request: ModelRequest) -> Said:
        block: JsonObject = {"type": "text", "text": "It is on its way."}
        return Said("msg", request.model, StopReason.END_TURN, (block,), "It is on its way.", (), Usage(9, 3), True)


def test_a_draft_is_the_reply_once_a_person_sends_it(bot: RestClient, world: World) -> None:
    # R134
    amend_agent(world.agent, actor=world.admin, send_mode="suggest")
    taken = send(bot)
    run_turn(world.tenant.pk, taken.body["conversation_id"], backend=FixedReplyModel())
    waits = send(bot, query="?wait=0")
    assert (waits.status, waits.body["status"], waits.body["outcome"]) == (202, "done", "drafted")
    assert "reply" not in waits.body
    with acting_as(world.operator):
        [draft] = Draft.objects.visible_to(world.operator).open()
    send_reviewed_draft(draft, actor=world.operator, reviewed_sha256=draft.text_sha256, text="It left on Monday.")
    sent = send(bot, query="?wait=1")
    assert (sent.status, sent.body["reply"]["text"]) == (200, "It left on Monday.")


def test_a_message_says_how_many_steps_its_turn_may_take(world: World, bot: RestClient) -> None:
    # R124
    assert event_of(world, send(bot, max_steps=3)).max_steps == 3
    assert event_of(world, send(bot, key="k2")).max_steps is None
    for wrong in (0, 41, "3", 2.5, True):
        refused = send(bot, key="k3", max_steps=wrong)
        assert (refused.status, "max_steps" in str(refused.body)) == (400, True)
