"""A turn begins anew with what the customer writes while the model thinks, as long as nothing is lost or done twice."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from apps.conversations.actions import take_over_conversation
from apps.conversations.models import Conversation
from apps.desk.models import Draft
from apps.governance.database.actor_transaction import acting_as
from apps.llm.model_backend import ModelReply, ModelRequest
from apps.runtime.models import ModelCall, ToolStep, Turn
from apps.runtime.tools.toolbox import NO_TOOLS, Toolbox
from apps.runtime.turns.turn_events import MessagesArrived
from apps.runtime.turns.turn_machine import start_turn
from apps.runtime.turns.turn_progress import AskModel
from apps.runtime.worker.sync_driver import answer_conversation
from apps.tenants.actions import amend_agent
from tests.runtime.transcript.test_crash_resume import FakePaymentTool
from tests.support.drivers.conversation import (
    expire_lease,
    lines,
    reply,
    run_customer_turn,
    send_customer_message,
    sessions,
    tool,
    turn_of,
)
from tests.support.drivers.dying_worker import PowerCutError
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_world

pytestmark = pytest.mark.django_db

FIRST, SECOND = "Where is my order?", "It is number 12."


@pytest.fixture
def world() -> World:
    world = make_world()
    amend_agent(world.agent, actor=world.admin, mid_turn_message_mode="restart")
    return world


@dataclass
class InterruptedModel:
    """A model; something happens while it thinks about its first calls."""

    standin: StandIn
    meanwhile: Callable[[int], object]
    times: int = 1
    asked: list[ModelRequest] = field(default_factory=list)

    def complete(self, request: ModelRequest) -> ModelReply:
        self.asked.append(request)
        if len(self.asked) <= self.times:
            self.meanwhile(len(self.asked))
        return self.standin.backend.complete(request)


def run_interrupted_turn(
    world: World, standin: StandIn, times: int = 1, toolbox: Toolbox = NO_TOOLS
) -> tuple[Turn, InterruptedModel]:
    """A first message, and others while the model thinks; the turn that took the first."""
    model = InterruptedModel(standin, lambda number: send_customer_message(world, SECOND, key=f"more-{number}"), times)
    event = send_customer_message(world, FIRST)
    answer_conversation(world.tenant.pk, event.conversation_id, backend=model, toolbox=toolbox)
    return turn_of(world, event), model


def system_text(request: ModelRequest) -> str:
    return "".join(block.text for block in request.system)


def rounds(world: World, turn: Turn) -> list[tuple[int, int]]:
    with acting_as(world.system):
        return list(ModelCall.objects.filter(turn=turn).order_by("round", "step").values_list("round", "step"))


def test_a_message_while_the_model_thinks_is_answered_together_with_the_first(world: World, standin: StandIn) -> None:
    # R126
    standin.play(reply("Which order?"), reply("Number 12 is on its way."))
    turn, model = run_interrupted_turn(world, standin)
    expected_lines = [("customer", FIRST), ("customer", SECOND), ("agent", "Number 12 is on its way.")]
    assert lines(world, turn.conversation_id) == expected_lines
    # What was thought first is paid for.
    assert (turn.round, rounds(world, turn)) == (2, [(1, 1), (2, 1)])
    assert SECOND in str(model.asked[1].messages[-1])
    assert system_text(model.asked[1]) == system_text(model.asked[0])


def test_a_turn_that_begins_anew_stays_in_the_session_it_opened(world: World, standin: StandIn) -> None:
    # R041, R064
    amend_agent(world.agent, actor=world.admin, session_idle_seconds=0)
    run_customer_turn(world, "Good morning", standin)
    standin.play(reply("Which order?"), reply("On its way."))
    turn, _ = run_interrupted_turn(world, standin)
    before, opened = sessions(world, turn.conversation_id)
    assert turn.session == opened != before


def test_an_agent_that_does_not_restart_answers_one_after_the_other(world: World, standin: StandIn) -> None:
    # R126
    amend_agent(world.agent, actor=world.admin, mid_turn_message_mode="queue")
    standin.play(reply("Which order?"), reply("On its way."))
    turn, _ = run_interrupted_turn(world, standin)
    expected_lines = [("customer", FIRST), ("agent", "Which order?"), ("customer", SECOND), ("agent", "On its way.")]
    assert lines(world, turn.conversation_id) == expected_lines


def test_a_customer_who_writes_on_and_on_is_answered_all_the_same(world: World, standin: StandIn) -> None:
    standin.play(*[reply(f"Answer {number}") for number in range(1, 6)])
    turn, model = run_interrupted_turn(world, standin, times=4)
    assert (turn.round, len(model.asked)) == (4, 5)
    senders = [sender for sender, _ in lines(world, turn.conversation_id)]
    assert senders == [*["customer"] * 4, "agent", "customer", "agent"]


def test_what_was_only_read_is_read_again(world: World, standin: StandIn) -> None:
    standin.play(tool("list_skills"), tool("list_skills"), reply("Number 12 is on its way."))
    turn, _ = run_interrupted_turn(world, standin)
    assert rounds(world, turn) == [(1, 1), (2, 1), (2, 2)]
    with acting_as(world.system):
        assert list(ToolStep.objects.filter(turn=turn).values_list("round", flat=True)) == [1, 2]
    assert lines(world, turn.conversation_id)[-1] == ("agent", "Number 12 is on its way.")


def test_a_turn_that_wrote_something_is_not_begun_anew(world: World, standin: StandIn) -> None:
    # R126
    standin.play(tool("update_memory", body="Orders have numbers."), reply("Which order?"), reply("On its way."))
    turn, _ = run_interrupted_turn(world, standin, times=2)
    assert rounds(world, turn) == [(1, 1), (1, 2)]
    assert ("agent", "Which order?") in lines(world, turn.conversation_id)


@pytest.mark.parametrize("repeat_safety", [ToolStep.RepeatSafety.IDEMPOTENT, ToolStep.RepeatSafety.UNSAFE])
def test_a_turn_that_called_somebody_else_is_not_begun_anew(
    world: World, standin: StandIn, repeat_safety: ToolStep.RepeatSafety
) -> None:
    # R126
    till = FakePaymentTool(repeat_safety)
    standin.play(tool("refund", order="12"), reply("Refunded."), reply("Anything else?"))
    turn, _ = run_interrupted_turn(world, standin, times=2, toolbox=till.toolbox)
    assert till.booked == [f"{turn.pk}:1:1:0"]
    assert rounds(world, turn) == [(1, 1), (1, 2)]


def test_a_draft_is_of_all_that_the_customer_wrote(world: World, standin: StandIn) -> None:
    # R134
    amend_agent(world.agent, actor=world.admin, send_mode="suggest")
    standin.play(reply("Which order?"), reply("On its way."))
    run_interrupted_turn(world, standin)
    with acting_as(world.operator):
        assert [draft.text for draft in Draft.objects.visible_to(world.operator)] == ["On its way."]


def test_a_worker_that_dies_in_the_second_round_leaves_it_to_the_next(world: World, standin: StandIn) -> None:
    # R126, R127
    def meanwhile(number: int) -> None:
        if number == 2:
            raise PowerCutError
        send_customer_message(world, SECOND)

    event = send_customer_message(world, FIRST)
    standin.play(reply("Which order?"), reply("On its way."))
    model = InterruptedModel(standin, meanwhile, times=2)
    with pytest.raises(PowerCutError):
        answer_conversation(world.tenant.pk, event.conversation_id, backend=model)
    expire_lease(world, turn_of(world, event))
    answer_conversation(world.tenant.pk, event.conversation_id, backend=model)
    turn = turn_of(world, event)
    assert (turn.status, turn.round, rounds(world, turn)) == (Turn.Status.DONE, 2, [(1, 1), (2, 1)])
    assert system_text(model.asked[2]) == system_text(model.asked[1])
    expected_lines = [("customer", FIRST), ("customer", SECOND), ("agent", "On its way.")]
    assert lines(world, turn.conversation_id) == expected_lines


def test_a_colleague_who_takes_over_meanwhile_has_all_that_the_customer_wrote(world: World, standin: StandIn) -> None:
    # R138
    def meanwhile(number: int) -> None:
        assert number == 1
        send_customer_message(world, SECOND)
        with acting_as(world.operator):
            conversation = Conversation.objects.visible_to(world.operator).get()
        take_over_conversation(conversation, actor=world.operator)

    event = send_customer_message(world, FIRST)
    standin.play(reply("Which order?"))
    answer_conversation(world.tenant.pk, event.conversation_id, backend=InterruptedModel(standin, meanwhile))
    turn = turn_of(world, event)
    assert (turn.status, turn.failure_code) == (Turn.Status.CANCELLED, "taken_over")
    assert lines(world, turn.conversation_id) == [("customer", FIRST), ("customer", SECOND)]


def test_a_turn_that_is_stopped_for_nothing_asks_the_same_again(world: World) -> None:
    event = send_customer_message(world, FIRST)
    machine = start_turn(world.tenant.pk, event.conversation_id)
    assert machine is not None
    asking = machine.effect
    assert isinstance(asking, AskModel)
    machine.advance(MessagesArrived())
    assert machine.effect is asking
    send_customer_message(world, SECOND)
    machine.advance(MessagesArrived())
    assert isinstance(machine.effect, AskModel)
    assert SECOND in str(machine.effect.request.messages[-1])
