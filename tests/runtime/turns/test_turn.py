"""One turn: claim, model and tools, reply; what happens when the model or a worker fails."""

import pytest
from pytest_django import Settings

from apps.conversations.actions import resolve_conversation
from apps.conversations.models import InboundEvent, Message
from apps.governance.database.actor_transaction import acting_as
from apps.llm.model_backend import BadRequest, ModelReply, ModelRequest
from apps.runtime.limits.turn_limits import CRASHES_PER_TURN, TURN_DEADLINE
from apps.runtime.models import ModelCall, Turn
from apps.runtime.turn_store.turn_claim import claim_turn
from apps.runtime.worker.sync_driver import answer_conversation
from tests.support.drivers.conversation import (
    calls,
    expire_lease,
    fault,
    lines,
    reply,
    run_customer_turn,
    run_turn,
    send_customer_message,
    tool,
    turn_of,
    without_cache_marks,
)
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_persona, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


def test_messages_that_wait_together_are_answered_by_one_turn(world: World, standin: StandIn) -> None:
    # R126, R127
    first, second = send_customer_message(world, "Hello"), send_customer_message(world, "Are you there?")
    standin.play(reply("Yes."))
    turn = run_turn(world, first, standin.backend)
    assert turn_of(world, second) == turn
    assert lines(world, turn.conversation_id) == [
        ("customer", "Hello"),
        ("customer", "Are you there?"),
        ("agent", "Yes."),
    ]
    [body] = standin.requests()
    assert len(body["messages"]) == 1


def test_an_operators_words_are_framed_as_the_operators(world: World, standin: StandIn) -> None:
    # R127
    event = send_customer_message(world, "Hello")
    with acting_as(world.operator):
        InboundEvent.objects.create(
            tenant_id=world.tenant.pk,
            conversation=event.conversation,
            kind=InboundEvent.Kind.OPERATOR,
            idempotency_key="o",
            text="Offer him a refund.",
            text_sha256="",
        )
    turn = run_turn(world, event, standin.backend)
    assert ("operator", "Offer him a refund.") in lines(world, turn.conversation_id)


def test_no_turn_is_taken_where_nothing_waits(world: World, standin: StandIn) -> None:
    turn = run_customer_turn(world, "Hello", standin)
    answer_conversation(world.tenant.pk, turn.conversation_id, backend=standin.backend)
    answer_conversation(world.tenant.pk, 10**9, backend=standin.backend)
    assert len(standin.requests()) == 1
    assert claim_turn(10**9, actor=world.system) is None


def test_a_running_turn_is_not_taken_twice(world: World, standin: StandIn) -> None:
    # R126
    event = send_customer_message(world, "Hello")
    claimed = claim_turn(event.conversation_id, actor=world.system)
    assert claimed is not None
    send_customer_message(world, "And this?")
    answer_conversation(world.tenant.pk, event.conversation_id, backend=standin.backend)
    assert standin.requests() == []
    assert turn_of(world, event).status == Turn.Status.RUNNING


def test_another_tenants_worker_finds_no_turn(world: World, standin: StandIn) -> None:
    # R006, R116
    event = send_customer_message(world, "Hello")
    answer_conversation(make_world().tenant.pk, event.conversation_id, backend=standin.backend)
    assert standin.requests() == []
    assert run_customer_turn(world, "Hello?", standin).status == Turn.Status.DONE


def test_a_worker_bound_to_an_agent_takes_no_other_agents_turns(
    world: World, standin: StandIn, settings: Settings
) -> None:
    # R002, R011
    event = send_customer_message(world, "Hello")
    for key in (f"{world.tenant.key}/sales", "elsewhere/support"):
        settings.AGENT_KEY = key
        answer_conversation(world.tenant.pk, event.conversation_id, backend=standin.backend)
        assert standin.requests() == []
    settings.AGENT_KEY = f"{world.tenant.key}/support"
    assert run_turn(world, event, standin.backend).status == Turn.Status.DONE


def test_every_model_call_is_kept_with_what_it_used(world: World, standin: StandIn) -> None:
    # R127, R185
    make_persona(world)
    standin.play(tool("list_skills"), reply("There are none."))
    turn = run_customer_turn(world, "What can you do?", standin)
    assert turn.session is not None
    with acting_as(world.operator):
        first, second = ModelCall.objects.filter(turn=turn)
    assert (first.step, first.stop_reason, second.step, second.stop_reason) == (1, "tool_use", 2, "end_turn")
    assert first.is_stand_in
    assert first.cost_micro_usd is None
    assert first.input_tokens + first.cache_write_5m_tokens + first.cache_write_1h_tokens > 0


def test_what_tools_gave_back_is_kept_once_and_told_again_as_it_was(world: World, standin: StandIn) -> None:
    # R043, R127
    standin.play(tool("list_skills"), tool("get_skill", skill_id=0), reply("There are none."))
    turn = run_customer_turn(world, "What can you do?", standin)
    run_customer_turn(world, "And now?", standin)
    last, next_one = (
        [without_cache_marks(message["content"]) for message in body["messages"]] for body in standin.requests()[-2:]
    )
    assert next_one[: len(last)] == last
    assert [block["content"] for [block] in last[2::2]] == [call["result"] for call in calls(world, turn)]
    with acting_as(world.system):
        tool_messages = Message.objects.filter(turn_id=turn.pk, sender=Message.Sender.TOOL)
        assert list(tool_messages.values_list("api_message", flat=True)) == [{"role": "user"}] * 2


def test_an_overloaded_model_postpones_the_turn_and_the_next_attempt_answers(world: World, standin: StandIn) -> None:
    standin.play(fault("overloaded"), reply("Sorry for the wait."))
    event = send_customer_message(world, "Hello")
    turn = run_turn(world, event, standin.backend)
    assert (turn.status, turn.failure_code, turn.attempts) == (Turn.Status.RUNNING, "overloaded", 1)
    answer_conversation(world.tenant.pk, event.conversation_id, backend=standin.backend)
    assert turn_of(world, event).attempts == 1, "the lease still runs"
    expire_lease(world, turn)
    turn = run_turn(world, event, standin.backend)
    assert (turn.status, turn.attempts, turn.fence, turn.failure_code) == (Turn.Status.DONE, 2, 2, "")
    assert lines(world, turn.conversation_id) == [("customer", "Hello"), ("agent", "Sorry for the wait.")]


def test_a_turn_waits_for_its_model_longer_than_for_its_workers(world: World, standin: StandIn) -> None:
    rounds = CRASHES_PER_TURN + 2
    standin.play(*[fault("server_error")] * rounds)
    event = send_customer_message(world, "Hello")
    for attempt in range(1, rounds + 1):
        turn = run_turn(world, event, standin.backend)
        assert (turn.status, turn.failure_code, turn.attempts) == (Turn.Status.RUNNING, "server_fault", attempt)
        expire_lease(world, turn)
    assert run_turn(world, event, standin.backend).status == Turn.Status.DONE


def test_a_turn_is_given_up_after_a_day_and_keeps_what_the_customer_wrote(world: World, standin: StandIn) -> None:
    standin.play(fault("overloaded"))
    event = send_customer_message(world, "Hello")
    turn = run_turn(world, event, standin.backend)
    with acting_as(world.system):
        Turn.objects.filter(pk=turn.pk).update(deadline_at=turn.deadline_at - TURN_DEADLINE)
    expire_lease(world, turn)
    turn = run_turn(world, event, standin.backend)
    assert (turn.status, turn.failure_code) == (Turn.Status.FAILED, "attempts_spent")
    assert lines(world, turn.conversation_id) == [("customer", "Hello")]
    assert run_customer_turn(world, "Hello again", standin).status == Turn.Status.DONE


def test_a_turn_whose_workers_died_again_and_again_is_given_up(world: World, standin: StandIn) -> None:
    event = send_customer_message(world, "Hello")
    for _ in range(CRASHES_PER_TURN):
        claimed = claim_turn(event.conversation_id, actor=world.system)
        assert claimed is not None
        expire_lease(world, claimed.turn)
    assert run_turn(world, event, standin.backend).failure_code == "attempts_spent"
    assert standin.requests() == []


@pytest.mark.parametrize(
    ("step", "code"),
    [
        (reply("I will not.", stop_reason="refusal"), "refusal"),
        (reply("Too long.", stop_reason="model_context_window_exceeded"), "model_context_window_exceeded"),
        (reply(""), "empty_reply"),
    ],
)
def test_what_time_does_not_heal_ends_the_turn_with_its_reason(
    world: World, standin: StandIn, step: dict[str, object], code: str
) -> None:
    standin.play(step)
    turn = run_turn(world, send_customer_message(world, "Hello"), standin.backend)
    assert (turn.status, turn.failure_code, turn.reply_id) == (Turn.Status.FAILED, code, None)
    assert turn.failure
    assert turn.finished_at is not None
    assert lines(world, turn.conversation_id) == [("customer", "Hello")]


@pytest.mark.parametrize("kind", ["rate_limited", "cut_stream", "malformed", "server_error", "spend_limit"])
def test_what_time_or_an_operator_heals_postpones_the_turn(world: World, standin: StandIn, kind: str) -> None:
    standin.play(fault(kind))
    turn = run_turn(world, send_customer_message(world, "Hello"), standin.backend)
    assert turn.status == Turn.Status.RUNNING
    assert turn.failure_code


class FailingModel:
    """A model whose call raises."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def complete(self, request: ModelRequest) -> ModelReply:
        del request
        raise self.error


@pytest.mark.parametrize(
    ("error", "code"),
    [(BadRequest("Too many tools."), "bad_request"), (RuntimeError("My order is 4711."), "unexpected")],
)
def test_what_nobody_can_wait_for_ends_the_turn_without_a_word_in_the_log(
    world: World, error: Exception, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    turn = run_turn(world, send_customer_message(world, "Hello"), FailingModel(error))
    assert (turn.status, turn.failure_code) == (Turn.Status.FAILED, code)
    assert "4711" not in caplog.text + turn.failure


def test_a_turn_that_takes_too_long_is_postponed(world: World, standin: StandIn, settings: Settings) -> None:
    settings.TURN_DEADLINE_SECONDS = 0
    turn = run_turn(world, send_customer_message(world, "Hello"), standin.backend)
    assert (turn.status, turn.failure_code) == (Turn.Status.RUNNING, "timed_out")


def test_a_dead_workers_turn_is_taken_over_with_its_session(world: World, standin: StandIn) -> None:
    make_persona(world)
    standin.play(fault("overloaded"))
    event = send_customer_message(world, "Hello")
    turn = run_turn(world, event, standin.backend)
    expire_lease(world, turn)
    later = send_customer_message(world, "Anybody?")
    taken_over = run_turn(world, event, standin.backend)
    assert (taken_over.pk, taken_over.session_id, taken_over.fence) == (turn.pk, turn.session_id, 2)
    with acting_as(world.system):
        later.refresh_from_db()
    assert later.turn_id is not None
    assert later.turn_id != turn.pk, "what arrived after the prompt was built is the next turn's"


class OvertakenModel:
    """A model so slow that another worker answers in between."""

    def __init__(self, world: World, standin: StandIn, conversation_id: int) -> None:
        self.world, self.standin, self.conversation_id = world, standin, conversation_id

    def complete(self, request: ModelRequest) -> ModelReply:
        model_reply = self.standin.backend.complete(request)
        answer_conversation(self.world.tenant.pk, self.conversation_id, backend=self.standin.backend)
        return model_reply


def test_a_worker_that_lost_its_turn_writes_nothing(world: World, standin: StandIn, settings: Settings) -> None:
    settings.TURN_LEASE_SECONDS = 0
    standin.play(reply("Too late."), reply("In time."))
    event = send_customer_message(world, "Hello")
    turn = run_turn(world, event, OvertakenModel(world, standin, event.conversation_id))
    assert (turn.status, turn.fence) == (Turn.Status.DONE, 2)
    assert lines(world, turn.conversation_id) == [("customer", "Hello"), ("agent", "In time.")]
    with acting_as(world.system):
        assert Turn.objects.filter(conversation=turn.conversation_id).count() == 1


def test_a_message_after_the_end_opens_a_conversation_that_follows(world: World, standin: StandIn) -> None:
    # R108
    first = run_customer_turn(world, "Hello", standin)
    with acting_as(world.bot):
        resolve_conversation(first.conversation, actor=world.bot)
    second = run_customer_turn(world, "One more thing", standin)
    assert second.conversation_id != first.conversation_id
    with acting_as(world.system):
        assert second.conversation.follows_id == first.conversation_id
        assert Message.objects.filter(conversation=second.conversation_id).count() == 2
