"""A worker dies in the middle of a turn: the next one goes on behind what was kept, and repeats no effect."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord
from apps.llm.model_backend import JsonObject, ToolDefinition
from apps.memory.models import AgentMemory
from apps.runtime.limits.turn_limits import CRASHES_PER_TURN
from apps.runtime.models import ModelCall, ToolStep, Turn
from apps.runtime.tools.toolbox import UNKNOWN_OUTCOME, CallOutcome, Toolbox
from apps.runtime.worker.sync_driver import answer_conversation
from tests.support.drivers.conversation import (
    calls,
    expire_lease,
    lines,
    reply,
    run_turn,
    send_customer_message,
    tool,
    turn_of,
)
from tests.support.drivers.dying_worker import DyingModel, PowerCutError
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_world

pytestmark = pytest.mark.django_db

RepeatSafety = ToolStep.RepeatSafety


@pytest.fixture
def world() -> World:
    return make_world()


@dataclass
class FakePaymentTool:
    """Somebody else's till: it books what it is told, and may cut the worker off while it does."""

    repeat_safety: RepeatSafety
    meanwhile: Callable[[], object] = lambda: None
    booked: list[str] = field(default_factory=list)

    @property
    def definition(self) -> ToolDefinition:
        shape: JsonObject = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}
        return ToolDefinition("refund", "Give the money back.", shape)

    async def call(self, arguments: JsonObject, *, key: str, timeout_seconds: float) -> CallOutcome:
        assert timeout_seconds > 0
        self.booked.append(key)
        self.meanwhile()
        return CallOutcome(f"Refunded {arguments['order']}.")

    @property
    def toolbox(self) -> Toolbox:
        return Toolbox({"refund": self})


def cut_power() -> None:
    raise PowerCutError


def test_finished_steps_are_replayed_and_an_own_write_happens_once(world: World, standin: StandIn) -> None:
    # R126
    standin.play(tool("update_memory", body="Ask for the order number."), reply("Noted."))
    event = send_customer_message(world, "Remember this")
    model = DyingModel(standin, at_call=2)
    with pytest.raises(PowerCutError):
        answer_conversation(world.tenant.pk, event.conversation_id, backend=model)
    turn = turn_of(world, event)
    assert (turn.status, turn.current_step) == (Turn.Status.RUNNING, 2)
    expire_lease(world, turn)
    turn = run_turn(world, event, standin.backend)
    assert (turn.status, turn.crashes, turn.outcome) == (Turn.Status.DONE, 1, Turn.Outcome.REPLIED)
    assert [line for line in lines(world, turn.conversation_id) if line[1]] == [
        ("customer", "Remember this"),
        ("agent", "Noted."),
    ]
    with acting_as(world.operator):
        [memory] = AgentMemory.objects.visible_to(world.operator)
        assert ChangeRecord.objects.filter(subject_type="memory.agentmemory", subject_id=memory.pk).count() == 1
        assert list(ModelCall.objects.filter(turn=turn).values_list("round", "step", "fence")) == [(1, 1, 1), (1, 2, 2)]
    assert calls(world, turn)[0]["result"].startswith("Saved.")


def test_a_resumed_turn_sends_the_bytes_it_began_with(world: World, standin: StandIn) -> None:
    # R062, R127: what a later call of the turn begins with is what the earlier one sent.
    standin.play(tool("list_skills"), reply("None yet."))
    event = send_customer_message(world, "What can you do?")
    model = DyingModel(standin, at_call=2)
    with pytest.raises(PowerCutError):
        answer_conversation(world.tenant.pk, event.conversation_id, backend=model)
    expire_lease(world, turn_of(world, event))
    run_turn(world, event, standin.backend)
    before, after = model.asked[1], standin.requests()[-1]
    assert len(standin.requests()) == 2, "the first call is not made again"
    assert [message["role"] for message in after["messages"]] == ["user", "assistant", "user"]
    sent = [message["content"] for message in before.messages]
    again = [
        [{name: value for name, value in block.items() if name != "cache_control"} for block in message["content"]]
        for message in after["messages"]
    ]
    assert again == sent


@pytest.mark.parametrize("repeat_safety", [RepeatSafety.IDEMPOTENT, RepeatSafety.READ_ONLY])
def test_a_call_that_may_be_repeated_is_made_again_under_its_key(
    world: World, standin: StandIn, repeat_safety: RepeatSafety
) -> None:
    till = FakePaymentTool(repeat_safety, cut_power)
    standin.play(tool("refund", order="4711"), reply("Your money is on its way."))
    event = send_customer_message(world, "Refund me")
    with pytest.raises(PowerCutError):
        answer_conversation(world.tenant.pk, event.conversation_id, backend=standin.backend, toolbox=till.toolbox)
    turn = turn_of(world, event)
    with acting_as(world.system):
        assert ToolStep.objects.get(turn=turn).state == ToolStep.State.STARTED
    expire_lease(world, turn)
    till.meanwhile = lambda: None
    answer_conversation(world.tenant.pk, event.conversation_id, backend=standin.backend, toolbox=till.toolbox)
    assert till.booked == [f"{turn.pk}:1:1:0"] * 2
    [made] = calls(world, turn_of(world, event))
    assert (made["result"], made["is_error"]) == ("Refunded 4711.", False)
    assert lines(world, event.conversation_id)[-1] == ("agent", "Your money is on its way.")


def test_a_call_that_must_not_be_repeated_is_not_and_the_model_is_told(world: World, standin: StandIn) -> None:
    till = FakePaymentTool(RepeatSafety.UNSAFE, cut_power)
    standin.play(tool("refund", order="4711"), reply("A colleague is checking."))
    event = send_customer_message(world, "Refund me")
    with pytest.raises(PowerCutError):
        answer_conversation(world.tenant.pk, event.conversation_id, backend=standin.backend, toolbox=till.toolbox)
    expire_lease(world, turn_of(world, event))
    answer_conversation(world.tenant.pk, event.conversation_id, backend=standin.backend, toolbox=till.toolbox)
    assert len(till.booked) == 1
    turn = turn_of(world, event)
    with acting_as(world.operator):
        step = ToolStep.objects.get(turn=turn)
    assert (step.state, step.is_error, step.result) == (ToolStep.State.UNKNOWN, True, UNKNOWN_OUTCOME.text)
    assert standin.requests()[-1]["messages"][-1]["content"][0]["content"] == UNKNOWN_OUTCOME.text


def test_a_begun_call_of_a_tool_that_is_gone_has_an_unknown_outcome(world: World, standin: StandIn) -> None:
    till = FakePaymentTool(RepeatSafety.IDEMPOTENT, cut_power)
    standin.play(tool("refund", order="4711"), reply("A colleague is checking."))
    event = send_customer_message(world, "Refund me")
    with pytest.raises(PowerCutError):
        answer_conversation(world.tenant.pk, event.conversation_id, backend=standin.backend, toolbox=till.toolbox)
    expire_lease(world, turn_of(world, event))
    turn = run_turn(world, event, standin.backend)
    assert calls(world, turn)[0]["result"] == UNKNOWN_OUTCOME.text


def test_a_call_under_way_ends_as_unknown_with_a_turn_that_is_given_up(world: World, standin: StandIn) -> None:
    till = FakePaymentTool(RepeatSafety.UNSAFE, cut_power)
    standin.play(tool("refund", order="4711"))
    event = send_customer_message(world, "Refund me")
    with pytest.raises(PowerCutError):
        answer_conversation(world.tenant.pk, event.conversation_id, backend=standin.backend, toolbox=till.toolbox)
    expire_lease(world, turn_of(world, event))
    with acting_as(world.system):
        Turn.objects.update(crashes=CRASHES_PER_TURN)
    turn = run_turn(world, event, standin.backend)
    with acting_as(world.operator):
        step = ToolStep.objects.get(turn=turn)
    assert (turn.status, turn.failure_code) == (Turn.Status.FAILED, "attempts_spent")
    assert (step.state, step.is_error, step.result) == (ToolStep.State.UNKNOWN, True, UNKNOWN_OUTCOME.text)


@dataclass
class SilentPaymentTool(FakePaymentTool):
    """A till that never says what it did."""

    async def call(self, arguments: JsonObject, *, key: str, timeout_seconds: float) -> CallOutcome:
        await super().call(arguments, key=key, timeout_seconds=timeout_seconds)
        return CallOutcome("The connection broke.", is_unknown=True)


def test_a_lost_answer_of_a_tool_is_told_as_unknown_without_a_crash(world: World, standin: StandIn) -> None:
    till = SilentPaymentTool(RepeatSafety.UNSAFE)
    standin.play(tool("refund", order="4711"), reply("A colleague is checking."))
    event = send_customer_message(world, "Refund me")
    answer_conversation(world.tenant.pk, event.conversation_id, backend=standin.backend, toolbox=till.toolbox)
    assert len(till.booked) == 1
    assert calls(world, turn_of(world, event))[0]["result"] == UNKNOWN_OUTCOME.text


def test_tools_inside_and_outside_are_called_in_the_models_order(world: World, standin: StandIn) -> None:
    till = FakePaymentTool(RepeatSafety.UNSAFE)
    standin.play(
        tool("list_skills"), tool("refund", order="1"), tool("update_memory", body="Order 1 came back."), reply("Done.")
    )
    event = send_customer_message(world, "Refund me")
    answer_conversation(world.tenant.pk, event.conversation_id, backend=standin.backend, toolbox=till.toolbox)
    turn = turn_of(world, event)
    with acting_as(world.operator):
        kept = list(
            ToolStep.objects.filter(turn=turn).values_list("step", "position", "name", "repeat_safety", "state")
        )
    assert kept == [
        (1, 0, "list_skills", "read_only", "done"),
        (2, 0, "refund", "unsafe", "done"),
        (3, 0, "update_memory", "transactional", "done"),
    ]


def test_a_paid_answer_that_could_not_leave_is_kept_and_leaves_later(world: World, standin: StandIn) -> None:
    standin.play(reply("", stop_reason="refusal"))
    event = send_customer_message(world, "Hello")
    turn = run_turn(world, event, standin.backend)
    assert turn.status == Turn.Status.FAILED
    with acting_as(world.operator):
        assert ModelCall.objects.get(turn=turn).stop_reason == "refusal"
