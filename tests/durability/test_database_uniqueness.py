"""The walls below the fence: PostgreSQL itself refuses a second row for what happens once, whoever writes it."""

from typing import Any

import pytest
from django.db import IntegrityError, models, transaction

from apps.conversations.models import InboundEvent, Message
from apps.governance.database.actor_transaction import acting
from apps.runtime.models import ModelCall, ToolStep, Turn
from tests.support.drivers.conversation import lease_runs_out, reply, take, tell, tool, turn_of
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
    return take(world, tell(world, "What can you do?"), standin.backend)


def refused(world: World, row: models.Model, constraint: str, **changed: Any) -> None:  # Any: values of columns
    """A copy of the row, but for these values, is refused by the constraint."""
    row.pk = None
    for name, value in changed.items():
        setattr(row, name, value)
    with acting(world.system), pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        row.save(force_insert=True)


def one(world: World, rows: models.QuerySet[Any]) -> Any:  # Any: a row of the model asked for
    with acting(world.system):
        return rows.order_by("pk")[0]


def test_a_step_is_written_once_under_any_fence(world: World, turn: Turn) -> None:
    # R126
    refused(world, one(world, ModelCall.objects.filter(turn=turn)), "step_is_written_once", fence=2)


def test_a_tool_step_is_written_once_under_any_fence(world: World, turn: Turn) -> None:
    refused(world, one(world, ToolStep.objects.filter(turn=turn)), "tool_step_is_written_once", fence=2)


def test_a_turn_replies_once(world: World, turn: Turn) -> None:
    said = one(world, Message.objects.filter(turn_id=turn.pk, is_reply=True))
    refused(world, said, "turn_replies_once", position=said.position + 1, text="Once more.")


def test_a_conversation_runs_one_turn(world: World, turn: Turn, standin: StandIn) -> None:
    event = tell(world, "Thank you")
    standin.play({"fault": "overloaded"})
    running = take(world, event, standin.backend)
    assert running.status == Turn.Status.RUNNING
    refused(world, running, "one_running_turn_per_conversation")


def test_a_reply_is_of_one_turn(world: World, turn: Turn, standin: StandIn) -> None:
    event = tell(world, "Thank you")
    standin.play({"fault": "overloaded"})
    running = take(world, event, standin.backend)
    stolen = {"status": Turn.Status.DONE, "outcome": Turn.Outcome.REPLIED, "reply": turn.reply_id}
    with acting(world.system), pytest.raises(IntegrityError, match="reply_is_of_one_turn"), transaction.atomic():
        Turn.objects.filter(pk=running.pk).update(**stolen)


def test_an_ended_turn_and_its_steps_stay_as_they_are(world: World, turn: Turn) -> None:
    for row, changed in (
        (Turn.objects.filter(pk=turn.pk), {"status": Turn.Status.RUNNING}),
        (ToolStep.objects.filter(turn=turn), {"state": ToolStep.State.UNKNOWN}),
    ):
        with acting(world.system), pytest.raises(IntegrityError), transaction.atomic():
            row.update(**changed)


def test_an_event_that_a_turn_took_is_taken_by_no_other(world: World, turn: Turn, standin: StandIn) -> None:
    event = tell(world, "Thank you")
    standin.play({"fault": "overloaded"}, reply("You are welcome."))
    running = take(world, event, standin.backend)
    lease_runs_out(world, running)
    assert take(world, event, standin.backend).pk == running.pk
    assert turn_of(world, event).status == Turn.Status.DONE
    with acting(world.system), pytest.raises(IntegrityError), transaction.atomic():
        InboundEvent.objects.filter(pk=event.pk).update(turn_id=turn.pk)
