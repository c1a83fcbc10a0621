"""What does not fit into the model is told with less history; what was cut off leaves by a person alone; a pause goes on."""

import pytest

from apps.desk.models import Draft
from apps.governance.database.actor_transaction import acting_as
from apps.runtime.models import ModelCall, Turn
from tests.support.drivers.conversation import (
    expire_lease,
    fault,
    lines,
    reply,
    run_customer_turn,
    run_turn,
    send_customer_message,
    tool,
)
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_world

pytestmark = pytest.mark.django_db

CONTEXT_OVERFLOW = reply("There is no", stop_reason="model_context_window_exceeded")
TURNS = 8


@pytest.fixture
def world() -> World:
    return make_world()


def make_history(world: World, standin: StandIn) -> None:
    """A conversation with some history."""
    for at in range(TURNS):
        run_customer_turn(world, f"Question {at}", standin)
    standin.forget()


def message_counts(standin: StandIn) -> list[int]:
    """How many messages each call was told."""
    return [len(body["messages"]) for body in standin.requests()]


def steps(world: World, turn: Turn) -> list[tuple[int, str]]:
    with acting_as(world.system):
        return list(ModelCall.objects.filter(turn=turn).order_by("step").values_list("step", "stop_reason"))


@pytest.mark.slow
def test_an_answer_that_found_no_room_is_asked_again_with_half_of_the_history(world: World, standin: StandIn) -> None:
    # R131, R143
    make_history(world, standin)
    standin.play(CONTEXT_OVERFLOW, reply("Now there is."))
    turn = run_turn(world, send_customer_message(world, "And now?"), standin.backend)
    assert (turn.status, turn.history_halvings, turn.crashes) == (Turn.Status.DONE, 1, 0)
    assert message_counts(standin) == [2 * TURNS + 1, TURNS + 1]
    assert steps(world, turn) == [(1, "model_context_window_exceeded"), (2, "end_turn")]
    assert lines(world, turn.conversation_id)[-1] == ("agent", "Now there is.")
    assert [body["messages"][0]["role"] for body in standin.requests()] == ["user", "user"]


def test_a_prompt_that_is_refused_as_too_long_is_shortened_too(world: World, standin: StandIn) -> None:
    make_history(world, standin)
    standin.play(fault("prompt_too_long"), fault("prompt_too_long"), reply("Now it fits."))
    turn = run_turn(world, send_customer_message(world, "And now?"), standin.backend)
    assert (turn.status, turn.history_halvings) == (Turn.Status.DONE, 2)
    assert message_counts(standin) == [2 * TURNS + 1, TURNS + 1, TURNS // 2 + 1]
    assert steps(world, turn) == [(1, "end_turn")]


@pytest.mark.parametrize("step", [CONTEXT_OVERFLOW, fault("prompt_too_long")])
def test_after_two_attempts_a_person_is_asked(world: World, standin: StandIn, step: dict[str, object]) -> None:
    make_history(world, standin)
    standin.play(step, step, step)
    turn = run_turn(world, send_customer_message(world, "And now?"), standin.backend)
    assert (turn.status, turn.outcome) == (Turn.Status.FAILED, Turn.Outcome.ESCALATED)
    assert turn.failure_code in {"model_context_window_exceeded", "context_exceeded"}
    assert len(standin.requests()) == 3


def test_a_shortened_turn_taken_over_sends_the_same_bytes(world: World, standin: StandIn) -> None:
    make_history(world, standin)
    standin.play(CONTEXT_OVERFLOW, tool("list_skills"), fault("overloaded"))
    event = send_customer_message(world, "And now?")
    turn = run_turn(world, event, standin.backend)
    assert turn.failure_code == "overloaded"
    expire_lease(world, turn)
    assert run_turn(world, event, standin.backend).status == Turn.Status.DONE
    *_, first, again = standin.requests()
    assert first["messages"] == again["messages"]
    assert steps(world, turn) == [(1, "model_context_window_exceeded"), (2, "tool_use"), (3, "end_turn")]


def test_half_a_sentence_waits_for_a_person(world: World, standin: StandIn) -> None:  # R131
    standin.play(reply("Your parcel is on its", stop_reason="max_tokens"))
    turn = run_turn(world, send_customer_message(world, "Where is it?"), standin.backend)
    assert (turn.status, turn.outcome) == (Turn.Status.DONE, Turn.Outcome.DRAFTED)
    with acting_as(world.operator):
        draft = Draft.objects.visible_to(world.operator).open().get()
    assert draft.text == "Your parcel is on its […]"
    assert lines(world, turn.conversation_id) == [("customer", "Where is it?")]


def test_a_model_that_pauses_is_asked_again_with_what_it_said_so_far(world: World, standin: StandIn) -> None:
    # R131
    standin.play(reply("Let me see.", stop_reason="pause_turn"), reply("It left today."))
    turn = run_turn(world, send_customer_message(world, "Where is it?"), standin.backend)
    assert (turn.status, turn.attempts) == (Turn.Status.DONE, 1)
    assert steps(world, turn) == [(1, "pause_turn"), (2, "end_turn")]
    assert lines(world, turn.conversation_id)[-1] == ("agent", "It left today.")
    first, second = standin.requests()
    assert [message["role"] for message in second["messages"]] == ["user", "assistant"]
    assert second["messages"][-1]["content"][0]["text"] == "Let me see."
    assert run_customer_turn(world, "Thanks.", standin).status == Turn.Status.DONE
    assert len(first["messages"]) == 1
