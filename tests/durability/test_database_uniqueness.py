"""The walls below the fence: PostgreSQL itself refuses a second row for what happens once, whoever writes it."""

from typing import Any

import pytest
from django.db import IntegrityError, models, transaction

from apps.conversations.models import InboundEvent, Message
from apps.governance.database.actor_transaction import acting_as
from apps.runtime.models import ModelCall, ToolStep, Turn
from tests.support.drivers.conversation import expire_lease, reply, run_turn, send_customer_message, tool, turn_of
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def turn(world: World, standin: StandIn) -> Turn:
    """A turn that listed the skills and then replied."""
    standin.play(tool("list_skills"), reply("None yet."))
    return run_turn(world, send_customer_message(world, "What can you do?"), standin.backend)


def assert_copy_refused(
    world: World, row: models.Model, constraint: str, **changed: Any
) -> None:  # Any: values of columns
    """A copy of the row, but for these values, is refused by the constraint."""
    row.pk = None
    for name, value in changed.items():
        setattr(row, name, value)
    with acting_as(world.system), pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        row.save(force_insert=True)


def first_row(world: World, rows: models.QuerySet[Any]) -> Any:  # Any: a row of the model asked for
    with acting_as(world.system):
        return rows.order_by("pk")[0]


def test_a_step_is_written_once_under_any_fence(world: World, turn: Turn) -> None:
    # R126
    assert_copy_refused(world, first_row(world, ModelCall.objects.filter(turn=turn)), "step_is_written_once", fence=2)


def test_a_tool_step_is_written_once_under_any_fence(world: World, turn: Turn) -> None:
    assert_copy_refused(
        world, first_row(world, ToolStep.objects.filter(turn=turn)), "tool_step_is_written_once", fence=2
    )


def test_a_turn_replies_once(world: World, turn: Turn) -> None:
    message = first_row(world, Message.objects.filter(turn_id=turn.pk, is_reply=True))
    assert_copy_refused(world, message, "turn_replies_once", position=message.position + 1, text="Once more.")


def test_a_conversation_runs_one_turn(world: World, turn: Turn, standin: StandIn) -> None:
    event = send_customer_message(world, "Thank you")
    standin.play({"fault": "overloaded"})
    running = run_turn(world, event, standin.backend)
    assert running.status == Turn.Status.RUNNING
    assert_copy_refused(world, running, "one_running_turn_per_conversation")


def test_a_reply_is_of_one_turn(world: World, turn: Turn, standin: StandIn) -> None:
    event = send_customer_message(world, "Thank you")
    standin.play({"fault": "overloaded"})
    running = run_turn(world, event, standin.backend)
    stolen = {"status": Turn.Status.DONE, "outcome": Turn.Outcome.REPLIED, "reply": turn.reply_id}
    with acting_as(world.system), pytest.raises(IntegrityError, match="reply_is_of_one_turn"), transaction.atomic():
        Turn.objects.filter(pk=running.pk).update(**stolen)


def test_an_ended_turn_and_its_steps_stay_as_they_are(world: World, turn: Turn) -> None:
    for row, changed in (
        (Turn.objects.filter(pk=turn.pk), {"status": Turn.Status.RUNNING}),
        (ToolStep.objects.filter(turn=turn), {"state": ToolStep.State.UNKNOWN}),
    ):
        with acting_as(world.system), pytest.raises(IntegrityError), transaction.atomic():
            row.update(**changed)


def test_an_event_that_a_turn_took_is_taken_by_no_other(world: World, turn: Turn, standin: StandIn) -> None:
    event = send_customer_message(world, "Thank you")
    standin.play({"fault": "overloaded"}, reply("You are welcome."))
    running = run_turn(world, event, standin.backend)
    expire_lease(world, running)
    assert run_turn(world, event, standin.backend).pk == running.pk
    assert turn_of(world, event).status == Turn.Status.DONE
    with acting_as(world.system), pytest.raises(IntegrityError), transaction.atomic():
        InboundEvent.objects.filter(pk=event.pk).update(turn_id=turn.pk)
