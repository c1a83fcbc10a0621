"""How long a turn waits for its model, and until when nobody asks again: a column of its row, by the database's clock."""

from datetime import timedelta
from time import monotonic

import pytest
from pytest_django import Settings

from apps.governance.database.actor_transaction import acting_as
from apps.runtime.models import Turn
from apps.runtime.worker.sync_driver import answer_conversation
from tests.support.drivers.conversation import run_turn, send_customer_message
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import make_world

pytestmark = pytest.mark.django_db

ASKED_SECONDS = 120
SILENT_SECONDS = 60


@pytest.mark.parametrize("kind", ["overloaded", "rate_limited"])
def test_nobody_asks_before_the_endpoint_wants_to_be_asked_again(standin: StandIn, kind: str) -> None:
    # R126, R131
    world = make_world()
    standin.play({"fault": kind, "seconds": ASKED_SECONDS})
    event = send_customer_message(world, "Hello")
    turn = run_turn(world, event, standin.backend)
    assert (turn.status, turn.failure_code) == (Turn.Status.RUNNING, kind)
    assert turn.run_at - turn.started_at >= timedelta(seconds=ASKED_SECONDS)
    with acting_as(world.system):
        Turn.objects.filter(pk=turn.pk).update(lease_until=turn.started_at)
    answer_conversation(world.tenant.pk, event.conversation_id, backend=standin.backend)
    assert len(standin.requests()) == 1
    with acting_as(world.system):
        Turn.objects.filter(pk=turn.pk).update(run_at=turn.started_at)
    assert run_turn(world, event, standin.backend).status == Turn.Status.DONE


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["slow_start", "stall"])
def test_a_model_that_falls_silent_is_left_when_the_turns_time_is_over(
    standin: StandIn, settings: Settings, kind: str
) -> None:
    # R131
    settings.TURN_DEADLINE_SECONDS = 4
    world = make_world()
    standin.play({"fault": kind, "seconds": SILENT_SECONDS})
    began = monotonic()
    turn = run_turn(world, send_customer_message(world, "Hello"), standin.backend)
    assert (turn.status, turn.failure_code) == (Turn.Status.RUNNING, "timed_out")
    assert monotonic() - began < SILENT_SECONDS / 2
    assert len(standin.requests()) == 1, "it was asked"
