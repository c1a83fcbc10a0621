"""Turns that somebody else took over, calls cut off in the middle, text no database holds."""

from dataclasses import dataclass, field

import pytest
from django.db.models.functions import Now

from apps.conversations.models import Message
from apps.governance.database.actor_transaction import acting_as
from apps.llm.model_backend import JsonObject, ModelReply, ModelRequest, StopReason, ToolUse, Usage
from apps.memory.models import AgentMemory
from apps.runtime.models import Turn
from apps.runtime.turn_store.turn_claim import claim_turn
from apps.runtime.worker.sync_driver import answer_conversation
from tests.support.drivers.conversation import lines, run_customer_turn, run_turn, send_customer_message
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


@dataclass
class ScriptedBackend:
    """A backend that says what it is told, and lets something happen first."""

    replies: list[ModelReply]
    asked: list[ModelRequest] = field(default_factory=list)
    taken_over: World | None = None

    def complete(self, request: ModelRequest) -> ModelReply:
        self.asked.append(request)
        if self.taken_over:
            with acting_as(self.taken_over.system):
                Turn.objects.filter(status=Turn.Status.RUNNING).update(fence=9, lease_until=Now())
        return self.replies[len(self.asked) - 1]


def make_reply(text: str, stop: StopReason, *uses: ToolUse) -> ModelReply:
    blocks: list[JsonObject] = [{"type": "text", "text": text}] if text else []
    blocks += [{"type": "tool_use", "id": use.tool_use_id, "name": use.name, "input": use.arguments} for use in uses]
    return ModelReply("msg", "model", stop, tuple(blocks), text, uses, Usage(1, 1), is_stand_in=True)


def test_a_tool_call_cut_off_in_the_middle_leaves_a_conversation_that_goes_on(world: World, standin: StandIn) -> None:
    cut = make_reply("I am noting that", StopReason.MAX_TOKENS, ToolUse("t1", "update_memory", {}))
    turn = run_turn(world, send_customer_message(world, "Write a very long note."), ScriptedBackend([cut]))
    assert turn.status == Turn.Status.DONE
    # The stand-in, like the vendor, refuses a call that nobody answered.
    assert run_customer_turn(world, "And now?", standin).status == Turn.Status.DONE


def test_a_worker_that_lost_its_turn_calls_no_tool_and_writes_no_reply(world: World) -> None:
    # R126
    wish = make_reply("", StopReason.TOOL_USE, ToolUse("t1", "update_memory", {"body": "Written by a stale worker."}))
    backend = ScriptedBackend([wish], taken_over=world)
    event = send_customer_message(world, "Hello")
    answer_conversation(world.tenant.pk, event.conversation_id, backend=backend)
    assert len(backend.asked) == 1
    with acting_as(world.system):
        assert not AgentMemory.objects.visible_to(world.system).exists()
        assert not Message.objects.exists()


def test_a_claim_that_finds_nothing_to_answer_leaves_no_turn_behind(world: World, standin: StandIn) -> None:
    event = send_customer_message(world, "Hello")
    run_customer_turn(world, "Hello again", standin)
    with acting_as(world.system):
        turns = Turn.objects.count()
    assert claim_turn(event.conversation_id, actor=world.system) is None
    with acting_as(world.system):
        assert Turn.objects.count() == turns


def test_text_no_database_holds_is_answered_without_it(world: World) -> None:
    strange = make_reply("Hello\x00 \ud800there", StopReason.END_TURN)
    event = send_customer_message(world, "Hi")
    turn = run_turn(world, event, ScriptedBackend([strange]))
    assert turn.status == Turn.Status.DONE
    assert lines(world, event.conversation_id)[-1] == ("agent", "Hello ?there")


def test_an_unexpected_failure_is_told_by_its_kind_alone(world: World, caplog: pytest.LogCaptureFixture) -> None:
    event = send_customer_message(world, "My IBAN is secret")
    turn = run_turn(world, event, ScriptedBackend([]))
    assert (turn.status, turn.failure_code, turn.failure) == ("failed", "unexpected", "The worker met IndexError.")
    assert "IBAN" not in caplog.text
    assert lines(world, event.conversation_id) == [("customer", "My IBAN is secret")]
