"""Which part of a request carries what an agent is, was told, learned and remembers; and what of a turn is kept to replay it."""

import pytest

from apps.conversations.actions import resolve_conversation
from apps.conversations.models import Conversation, Message
from apps.governance.database.actor_transaction import acting_as
from apps.runtime.explain.turn_retrieval import Retrieval, retrieval_of
from apps.runtime.models import Turn
from apps.runtime.sessions.session_prefix import load_prefix
from apps.runtime.turn_store.model_steps import parse_tool_calls, replayed_message
from apps.tenants.actions import amend_agent
from tests.support.drivers.conversation import (
    prompt,
    reply,
    run_customer_turn,
    run_turn,
    send_customer_message,
    tool,
    without_cache_marks,
)
from tests.support.factories.desk import make_escalation
from tests.support.factories.lessons import SENT_TEXT, make_edited_draft, make_version
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import make_block, make_memory, make_persona, make_rule, make_skill, make_world

pytestmark = pytest.mark.django_db
TRACE_STEP = "Open a trace with the carrier."


def messages(body: dict[str, object]) -> str:
    return str(body["messages"])


def test_what_was_learned_and_what_is_read_by_tool_stand_outside_the_system_prompt(standin: StandIn) -> None:
    # R059, R162
    world = make_world()
    make_persona(world)
    make_version(world, "active", "- Say Ahoy.")
    make_block(world, body="The shop in Bremen closes at six.", is_pinned=False)
    make_edited_draft(world)
    run_customer_turn(world, "Hello", standin)
    [body] = standin.requests()
    assert [words for words in ("Ahoy", "Bremen", SENT_TEXT) if words in prompt(body)] == []
    assert "Ahoy" in messages(body)
    assert SENT_TEXT in messages(body)
    assert "Bremen" not in messages(body)


def test_each_layer_of_a_turn_comes_from_its_own_rows(standin: StandIn) -> None:
    # R128
    world = make_world()
    amend_agent(world.agent, actor=world.admin, send_mode="suggest")
    make_rule(world, "Never name a competitor.", of_agent=False)
    make_rule(world, "Always say the order number.")
    make_version(world, "active", "- Say Ahoy.")
    make_edited_draft(world)
    event = send_customer_message(world, "Hello")
    make_escalation(world, event.conversation)
    run_turn(world, event, standin.backend)
    [body] = standin.requests()
    system, turn = prompt(body), messages(body)
    core, ours, own = (system.index(words) for words in ("How you affect", "name a competitor", "say the order number"))
    assert core < ours < own
    delivery, learned, corrected = (turn.index(words) for words in ("Delivery: ", "Ahoy", SENT_TEXT))
    assert delivery < learned < corrected
    assert "Delivery: " not in system
    amend_agent(world.agent, actor=world.admin, send_mode="observe")
    run_customer_turn(world, "And?", standin, thread="another")
    assert prompt(standin.requests()[-1]) == system, "the send mode is of the turn, not of the prefix"
    assert turn[delivery : delivery + 200] not in messages(standin.requests()[-1])


def test_a_runbook_is_no_memory_and_no_history_until_it_is_read(standin: StandIn) -> None:
    # R099, R106
    world = make_world()
    make_persona(world)
    make_memory(world, "Most customers are in the EU.")
    skill = make_skill(world, "approved", title="Trace a parcel", body=f"## Procedure\n1. {TRACE_STEP}\n")
    standin.play(tool("get_skill", skill_id=skill.pk), reply("I opened a trace."))
    turn = run_customer_turn(world, "Where is it?", standin)
    assert turn.session is not None
    with acting_as(world.operator):
        slots = {place.part.slot: place.part.text for place in turn.session.parts.select_related("part")}
    assert "trace-a-parcel" in slots[3]
    assert "in the EU" not in slots[3]
    assert "in the EU" in slots[4]
    assert "trace-a-parcel" not in slots[4]
    first, second = standin.requests()
    assert TRACE_STEP not in prompt(first) + messages(first)
    assert TRACE_STEP not in prompt(second)
    assert TRACE_STEP in messages(second)


def test_what_a_replay_of_a_turn_needs_is_kept(standin: StandIn) -> None:
    # R150, R167: the bytes that were sent, what tools answered, the reply, what was read of lessons, and how it ended.
    world = make_world()
    make_persona(world)
    version = make_version(world, "active", "- Say Ahoy.")
    standin.play(tool("list_skills"), reply("Ahoy, there are none."))
    turn = run_customer_turn(world, "What can you do?", standin)
    first, second = standin.requests()
    with acting_as(world.operator):
        kept = Turn.objects.select_related("session", "reply").get(pk=turn.pk)
        resolve_conversation(kept.conversation, actor=world.operator, outcome=Conversation.Outcome.SOLVED)
        assert kept.session is not None
        assert kept.reply is not None
        frozen = load_prefix(kept.session)
        assert kept.session.prefix_sha256 == frozen.assembled.sha256
        assert frozen.assembled.text == prompt(first) == prompt(second)
        kept_messages = Message.objects.filter(conversation=kept.conversation_id).order_by("position")
        rows = list(kept_messages.values_list("api_message", "tool_calls"))
        steps = list(kept.tool_steps.values_list("name", "state", "result"))
        retrieval = retrieval_of(kept)
        outcome = Conversation.objects.get(pk=kept.conversation_id).outcome
    sent = [message | {"content": without_cache_marks(message["content"])} for message in second["messages"]]
    calls_before = [None, *(calls for _, calls in rows)]
    wires = [
        replayed_message(wire, parse_tool_calls(calls))
        for (wire, _), calls in zip(rows, calls_before, strict=False)
        if wire
    ]
    assert wires[: len(sent)] == sent
    assert steps == [("list_skills", "done", sent[2]["content"][0]["content"])]
    assert (kept.reply.text, outcome) == ("Ahoy, there are none.", "solved")
    assert retrieval == Retrieval(version.pk, 1, ())
