"""A member's own talks and words by REST: by their session alone; neither a colleague nor any agent's token comes near them."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord
from apps.governance.policy.policy_table import Act
from apps.personas.actions import propose_patch, write_member_overlay
from apps.runtime.off_the_record_erasure import erase_if_due
from apps.runtime.worker.sync_driver import answer_conversation
from tests.support.drivers.conversation import reply
from tests.support.drivers.rest_client import RestClient, agent_client, person_client
from tests.support.factories.member_talks import make_assistant, make_member_overlay, make_talk, make_trial
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_member, make_persona, make_rule


@pytest.fixture
def assistant(world: World) -> World:
    return make_assistant(world)


@pytest.fixture
def talk_id(operator: RestClient, assistant: World) -> int:
    """A talk of the operator's."""
    return int(operator.post("talks/", {"agent_key": assistant.agent.key}).body["id"])


def test_a_member_talks_and_reads_the_answer(
    world: World, operator: RestClient, assistant: World, talk_id: int, standin: StandIn
) -> None:
    make_persona(assistant)
    path = f"talks/{talk_id}/messages/"
    response, again = (operator.post(path, {"text": "What waits for me?"}, Idempotency_Key="k-1") for _ in range(2))
    assert (response.status, response.body["status"], response.body["conversation_id"]) == (202, "queued", talk_id)
    assert again.body["event_id"] == response.body["event_id"]
    standin.play(reply("Nothing waits."))
    answer_conversation(world.tenant.pk, talk_id, backend=standin.backend)
    event = operator.get(response.body["poll"]).body
    assert (event["status"], event["reply"]["text"]) == ("done", "Nothing waits.")
    lines = operator.get(f"messages/?conversation_id={talk_id}").body["results"]
    assert [line["text"] for line in lines] == ["What waits for me?", "Nothing waits."]
    with acting_as(world.operator):
        assert ChangeRecord.objects.filter(act=Act.CONVERSATION_TALK, subject_id=talk_id).count() == 1


def test_nobody_else_comes_near_a_talk(world: World, admin: RestClient, assistant: World, operator: RestClient) -> None:
    # R129
    talk = make_talk(assistant)
    message = operator.post(f"talks/{talk.pk}/messages/", {"text": "Between us", "idempotency_key": "k"}).body
    kim, bot, itself = person_client(make_member(world).user), agent_client(world), agent_client(assistant)
    for colleague in (admin, kim):
        assert colleague.get("talks/").body["results"] == []
        for method, path in (("GET", ""), ("POST", "close/"), ("POST", "messages/")):
            asked = colleague.ask(method, f"talks/{talk.pk}/{path}", None if method == "GET" else {"text": "Hello"})
            assert (asked.status, asked.code) == (404, "not_found")
    for agent in (bot, itself):
        assert agent.get("talks/").code == agent.get(f"talks/{talk.pk}/").code == "not_permitted"
        assert agent.post("talks/", {"agent_key": assistant.agent.key}).code == "not_permitted"
        assert agent.post(f"talks/{talk.pk}/messages/", {"text": "Hello"}).code == "not_permitted"
    for stranger in (admin, kim, bot, itself):
        assert stranger.get(message["poll"]).status == 404
        assert stranger.get(f"messages/?conversation_id={talk.pk}").body["results"] == []
        assert stranger.get(f"conversations/{talk.pk}/").status == 404
    assert operator.get(f"conversations/{talk.pk}/").status == 404


def test_a_closed_talk_is_read_and_takes_nothing_more(operator: RestClient, talk_id: int) -> None:
    path = f"talks/{talk_id}/"
    assert operator.post(f"{path}messages/", {"text": "Hello", "idempotency_key": "a"}).status == 202
    version = operator.get(path).body["version"]
    assert operator.post(f"{path}close/", {"version": version + 1}).code == "stale"
    closed = operator.post(f"{path}close/", {"version": version})
    assert (closed.status, closed.body["status"]) == (200, "abandoned")
    late = operator.post(f"{path}messages/", {"text": "One more", "idempotency_key": "b"})
    assert (late.status, late.code) == (400, "illegal_transition")
    assert [row["id"] for row in operator.get("talks/?status=abandoned").body["results"]] == [talk_id]


def test_what_cannot_be_said_or_begun_is_refused_by_its_field(
    world: World, operator: RestClient, assistant: World, talk_id: int
) -> None:
    for sent, field in (
        ({"agent_key": world.agent.key}, "agent_key"),
        ({"agent_key": "nobody"}, "agent_key"),
        ({"agent_key": assistant.agent.key, "off_the_record": "yes"}, "off_the_record"),
        ({}, "agent_key"),
    ):
        assert list(operator.post("talks/", sent).body["errors"]) == [field]
    for message, field in (
        ({"text": "Hello"}, "idempotency_key"),
        ({"text": "", "idempotency_key": "k"}, "text"),
        ({"text": "Hello", "idempotency_key": "k", "sent_by": "me"}, "sent_by"),
    ):
        assert list(operator.post(f"talks/{talk_id}/messages/", message).body["errors"]) == [field]
    assert operator.post(f"talks/{talk_id}/messages/?wait=61", {"text": "x", "idempotency_key": "k"}).status == 400


def test_a_talk_off_the_record_is_forgotten_once_it_is_closed(
    world: World, operator: RestClient, assistant: World, standin: StandIn
) -> None:
    sent = {"agent_key": assistant.agent.key, "off_the_record": True}
    made, again = (operator.post("talks/", sent, Idempotency_Key="k") for _ in range(2))
    assert (made.body["off_the_record"], again.body["id"]) == (True, made.body["id"])
    assert again.headers["Idempotent-Replayed"] == "true"
    path = f"talks/{made.body['id']}/"
    operator.post(f"{path}messages/", {"text": "Between us", "idempotency_key": "m"})
    standin.play(reply("Of course."))
    answer_conversation(world.tenant.pk, made.body["id"], backend=standin.backend)
    operator.post(f"{path}close/", {})
    erase_if_due(world.tenant.pk, made.body["id"])
    assert operator.get(path).body["erased_at"]
    lines = operator.get(f"messages/?conversation_id={made.body['id']}").body["results"]
    assert [line["text"] for line in lines if line["text"]] == []


def test_an_agent_is_tried_and_what_was_said_is_forgotten(
    world: World, operator: RestClient, admin: RestClient, bot: RestClient, standin: StandIn
) -> None:
    proposal = propose_patch(make_persona(world), actor=world.bot, text="Say hello first.")
    live = operator.post("trials/", {"agent_key": world.agent.key}).body
    assert (live["proposal_id"], live["status"]) == (None, "open")
    path = f"trials/{live['id']}/"
    message = operator.post(f"{path}messages/", {"text": "Where is it?", "idempotency_key": "k"}).body
    standin.play(reply("On its way."))
    answer_conversation(world.tenant.pk, live["id"], backend=standin.backend)
    assert operator.get(message["poll"]).body["reply"]["text"] == "On its way."
    assert admin.get(path).status == admin.post(f"{path}messages/", {"text": "x"}).status == 404
    assert bot.get(path).code == bot.post(f"{path}messages/", {"text": "x"}).code == "not_permitted"
    assert operator.get(f"talks/{live['id']}/").status == 404
    gone = operator.post(f"{path}erase/", {})
    assert (gone.status, gone.body["status"], gone.body["erased_at"] is not None) == (200, "abandoned", True)
    lines = operator.get(f"messages/?conversation_id={live['id']}").body["results"]
    assert [line["text"] for line in lines if line["text"]] == []
    wordless = operator.post("trials/", {"agent_key": world.agent.key, "proposal_id": proposal.pk})
    assert (wordless.code, list(wordless.body["errors"])) == ("invalid", ["proposal_id"])
    change = {"kind": "rule.change", "target_id": make_rule(world).pk, "content": {"text": "Be brief."}}
    worded = operator.post("proposals/", change)
    tried = operator.post("trials/", {"agent_key": world.agent.key, "proposal_id": worded.body["id"]})
    assert (tried.status, tried.body["proposal_id"]) == (201, worded.body["id"])


def test_a_members_words_are_theirs_to_read_and_to_write(
    world: World, operator: RestClient, admin: RestClient, assistant: World
) -> None:
    # R035, R129
    sent = {"agent_key": assistant.agent.key, "text": "Answer me in lists."}
    made, again = (operator.post("member-overlays/", sent, Idempotency_Key="k") for _ in range(2))
    assert (made.status, made.body["text"], again.body) == (201, sent["text"], made.body)
    assert operator.post("member-overlays/", sent).code == "conflict"
    path = f"member-overlays/{made.body['id']}/"
    for agent in (agent_client(world), agent_client(assistant)):
        assert agent.get(path).code == agent.post("member-overlays/", sent).code == "not_permitted"
        assert agent.patch(path, {"text": "Obey me."}).code == "not_permitted"
    assert admin.get(path).status == admin.patch(path, {"text": "Obey me."}).status == 404
    assert admin.get("member-overlays/").body["results"] == []
    assert admin.post("member-overlays/", sent).status == 201
    tag = operator.get(path).headers["ETag"]
    changed = operator.patch(path, {"text": "Be brief."}, If_Match=tag)
    assert (changed.status, changed.body["text"]) == (200, "Be brief.")
    assert operator.patch(path, {"text": "Late"}, If_Match=tag).status == 412
    assert operator.patch(path, {"text": "Late", "version": made.body["version"]}).code == "stale"
    assert operator.put(path, {**changed.body, "text": ""}).body["text"] == ""
    for text in ("x" * 2_001, 7):
        assert list(operator.patch(path, {"text": text}).body["errors"]) == ["text"]
    wrong = operator.post("member-overlays/", {"agent_key": world.agent.key, "text": "x"})
    assert (wrong.code, list(wrong.body["errors"])) == ("invalid", ["agent_key"])


def test_what_an_assistant_would_write_waits_for_its_member(operator: RestClient, assistant: World) -> None:
    # Z-6
    overlay = make_member_overlay(assistant, "Be brief.")
    bot = assistant.bot.for_member(assistant.operator_user.pk)
    write_member_overlay(overlay, actor=bot, text="Obey customers.", has_heard=True)
    path = f"member-overlays/{overlay.pk}/"
    assert [operator.get(path).body[name] for name in ("text", "pending_text")] == ["Be brief.", "Obey customers."]
    settled = operator.patch(path, {"text": "Be brief."}).body
    assert (settled["text"], settled["pending_text"]) == ("Be brief.", "")


@pytest.mark.parametrize("noun", ["talks", "trials", "member-overlays"])
def test_a_list_of_many_costs_what_a_list_of_one_does(world: World, operator: RestClient, noun: str) -> None:
    def one_more() -> None:
        makers: dict[str, Callable[[], object]] = {
            "talks": lambda: make_talk(make_assistant(world)),
            "trials": lambda: make_trial(world),
            "member-overlays": lambda: make_member_overlay(make_assistant(world)),
        }
        makers[noun]()

    def asked_for() -> tuple[int, int]:
        with CaptureQueriesContext(connection) as captured:
            rows = operator.get(f"{noun}/").body["results"]
        return len(rows), len(captured)

    one_more()
    operator.get(f"{noun}/")
    few = asked_for()
    for _ in range(4):
        one_more()
    assert asked_for() == (few[0] + 4, few[1])
