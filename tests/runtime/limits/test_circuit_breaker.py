"""Calls of a failing model are held back, one looks whether it is back, and an agent may have another model meanwhile."""

from itertools import count

import pytest
from django.db import connection
from django.db.models.functions import Now

from apps.governance.database.actor_transaction import acting_as
from apps.runtime.limits.circuit_breaker import CALLS_TO_JUDGE, OPEN_SECONDS
from apps.runtime.models import CircuitBreaker, ModelCall, Turn
from apps.runtime.turns.turn_events import CallFailed, ModelReplied
from apps.runtime.turns.turn_machine import TurnMachine, start_turn
from apps.runtime.worker.sync_driver import answer_conversation
from apps.tenants.actions import amend_agent
from tests.support.drivers.conversation import (
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

MODEL = "house-model"
_threads = count(1)


@pytest.fixture
def world() -> World:
    world = make_world()
    amend_agent(world.agent, actor=world.admin, model=f"{MODEL}-{world.tenant.pk}")
    return world


def breaker(world: World) -> CircuitBreaker | None:
    with acting_as(world.system):
        return CircuitBreaker.objects.filter(model=f"{MODEL}-{world.tenant.pk}").first()


def fail_calls(world: World, standin: StandIn, calls: int = CALLS_TO_JUDGE) -> Turn:
    """So many calls fail, each of a conversation of its own."""
    standin.play(*[fault("overloaded")] * calls)
    turns = [run_new_turn(world, standin) for _ in range(calls)]
    assert {(turn.failure_code, turn.failed_calls) for turn in turns} == {("overloaded", 1)}
    return turns[-1]


def open_breaker(world: World, standin: StandIn, model: str = "") -> Turn:
    """The last call of one, by which the breaker opens; the calls before it are in the books."""
    set_breaker_counts(world, failures=CALLS_TO_JUDGE - 1, calls=CALLS_TO_JUDGE - 1, model=model)
    return fail_calls(world, standin, 1)


def set_breaker_counts(world: World, *, failures: int, calls: int, model: str = "") -> None:
    """What a breaker counted in the minute that runs."""
    counted = {"failures": failures, "calls": calls, "window_started_at": Now()}
    with acting_as(world.system):
        CircuitBreaker.objects.update_or_create(counted, endpoint_id=0, model=model or f"{MODEL}-{world.tenant.pk}")


def run_new_turn(world: World, standin: StandIn) -> Turn:
    thread = f"thread-{next(_threads)}"
    return run_turn(world, send_customer_message(world, "Hello", thread=thread, key=thread), standin.backend)


def end_breaker_wait(world: World) -> None:
    """What waits is due, and the breaker's wait is over."""
    with acting_as(world.system), connection.cursor() as cursor:
        cursor.execute("UPDATE runtime_circuitbreaker SET opened_until = statement_timestamp() - interval '1 second'")
        cursor.execute("UPDATE runtime_turn SET run_at = statement_timestamp() WHERE status = 'running'")


def begin_turn(world: World, turn: Turn) -> TurnMachine:
    machine = start_turn(world.tenant.pk, turn.conversation_id)
    assert machine is not None
    return machine


def test_nothing_is_written_while_calls_succeed(world: World, standin: StandIn) -> None:
    run_customer_turn(world, "Hello", standin)
    assert breaker(world) is None


@pytest.mark.slow
def test_a_failing_model_is_asked_no_more_and_what_waits_counts_no_try(world: World, standin: StandIn) -> None:
    # R131
    fail_calls(world, standin)
    row = breaker(world)
    assert row is not None
    assert (row.state, row.failures, row.opened_for_seconds) == ("open", 0, OPEN_SECONDS)
    asked = len(standin.requests())
    turn = run_new_turn(world, standin)
    assert (turn.status, turn.failure_code, turn.failed_calls) == (Turn.Status.RUNNING, "breaker_open", 0)
    assert "are paused for a moment" in turn.failure
    assert len(standin.requests()) == asked
    other = make_world()
    assert run_new_turn(other, standin).status == Turn.Status.DONE


def test_one_turn_looks_whether_it_is_back_while_the_others_wait(world: World, standin: StandIn) -> None:
    first, second = open_breaker(world, standin), run_new_turn(world, standin)
    end_breaker_wait(world)
    looks, waits = begin_turn(world, first), begin_turn(world, second)
    assert (looks.progress.is_probe, waits.progress.is_probe) == (True, False)
    assert reload_turn(world, second).failure_code == "breaker_open"
    looks.advance(ModelReplied(standin.backend.complete(looks.effect.request)))  # type: ignore[union-attr]  # it asks
    row = breaker(world)
    assert row is not None
    assert (row.state, row.opened_for_seconds) == ("closed", 0)
    end_breaker_wait(world)
    assert begin_turn(world, second).progress.is_probe is False


def reload_turn(world: World, turn: Turn) -> Turn:
    with acting_as(world.system):
        return Turn.objects.get(pk=turn.pk)


def test_a_look_that_fails_makes_everybody_wait_twice_as_long(world: World, standin: StandIn) -> None:
    last = open_breaker(world, standin)
    end_breaker_wait(world)
    standin.play(fault("server_error"))
    looks = begin_turn(world, last)
    try:
        standin.backend.complete(looks.effect.request)  # type: ignore[union-attr]  # it asks
    except Exception as error:  # noqa: BLE001  # as the engine reports it
        failure = error
    looks.advance(CallFailed(failure))
    row = breaker(world)
    assert row is not None
    assert (row.state, row.opened_for_seconds) == ("open", 2 * OPEN_SECONDS)
    assert reload_turn(world, last).failure_code == "server_fault"


def test_calls_that_go_well_between_failures_keep_it_closed(world: World, standin: StandIn) -> None:
    set_breaker_counts(world, failures=CALLS_TO_JUDGE // 2 - 1, calls=CALLS_TO_JUDGE - 3)
    standin.play(*[reply("Yes.")] * 3, fault("overloaded"))
    for _ in range(4):
        run_new_turn(world, standin)
    row = breaker(world)
    assert row is not None
    assert (row.state, row.failures) == ("closed", CALLS_TO_JUDGE // 2)
    assert row.calls == CALLS_TO_JUDGE + 1


def test_calls_that_went_well_before_do_not_speak_for_the_minute_in_which_many_fail(
    world: World, standin: StandIn
) -> None:
    for _ in range(3):
        run_new_turn(world, standin)
    set_breaker_counts(world, failures=CALLS_TO_JUDGE // 2, calls=CALLS_TO_JUDGE - 1)
    fail_calls(world, standin, 1)
    row = breaker(world)
    assert row is not None
    assert row.state == "open"


def test_a_model_that_refuses_us_is_not_held_back(world: World, standin: StandIn) -> None:
    standin.play(*[fault("rate_limited")] * 2)
    for _ in range(2):
        assert run_new_turn(world, standin).failure_code == "rate_limited"
    assert breaker(world) is None


def test_the_fallback_answers_meanwhile_and_the_books_say_so(world: World, standin: StandIn) -> None:  # R131
    open_breaker(world, standin)
    amend_agent(world.agent, actor=world.admin, fallback_model="second-choice")
    turn = run_new_turn(world, standin)
    assert (turn.status, turn.model) == (Turn.Status.DONE, "second-choice")
    assert standin.requests()[-1]["model"] == "second-choice"
    with acting_as(world.system):
        assert ModelCall.objects.get(turn=turn).model == "second-choice"
    assert lines(world, turn.conversation_id)[-1][0] == "agent"


def test_a_turn_keeps_the_model_it_began_with(world: World, standin: StandIn) -> None:
    amend_agent(world.agent, actor=world.admin, fallback_model="second-choice")
    standin.play(tool("list_skills"), fault("overloaded"))
    halfway = run_new_turn(world, standin)
    open_breaker(world, standin)
    own = f"{MODEL}-{world.tenant.pk}"
    make_turns_due(world)
    assert start_turn(world.tenant.pk, halfway.conversation_id) is not None
    waiting = reload_turn(world, halfway)
    assert (waiting.failure_code, waiting.model) == ("breaker_open", "")
    end_breaker_wait(world)
    assert run_turn_again(world, halfway, standin).status == Turn.Status.DONE
    assert standin.requests()[-1]["model"] == own


def make_turns_due(world: World) -> None:
    """What waits is due, and the breaker is not."""
    with acting_as(world.system), connection.cursor() as cursor:
        cursor.execute("UPDATE runtime_turn SET run_at = statement_timestamp() WHERE status = 'running'")


def run_turn_again(world: World, turn: Turn, standin: StandIn) -> Turn:
    answer_conversation(world.tenant.pk, turn.conversation_id, backend=standin.backend)
    return reload_turn(world, turn)


def test_where_the_fallback_fails_too_customers_wait(world: World, standin: StandIn) -> None:
    open_breaker(world, standin)
    own, second = f"{MODEL}-{world.tenant.pk}", f"second-{world.tenant.pk}"
    amend_agent(world.agent, actor=world.admin, model=second)
    open_breaker(world, standin, second)
    amend_agent(world.agent, actor=world.admin, model=own, fallback_model=second)
    turn = run_new_turn(world, standin)
    assert (turn.failure_code, turn.model) == ("breaker_open", "")


def test_breakers_are_the_workers_alone(world: World) -> None:
    for actor in (world.operator, world.bot):
        with pytest.raises(Exception, match="permission denied"), acting_as(actor), connection.cursor() as cursor:
            cursor.execute("SELECT * FROM runtime_circuitbreaker")
