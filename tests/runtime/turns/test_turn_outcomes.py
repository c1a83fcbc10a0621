"""What becomes of a turn's answer: it leaves, waits for a person or is noted; and who is asked where there is none."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.db import IntegrityError

from apps.conversations.actions import take_over_conversation
from apps.conversations.models import InboundEvent
from apps.desk.models import Draft, Escalation
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Invalid
from apps.kill_switches.actions import deactivate_kill_switch
from apps.kill_switches.models import KillSwitch
from apps.llm.model_backend import ModelReply, ModelRequest
from apps.runtime.models import ModelCall, Turn
from apps.runtime.tools.escalation_tool import REASONS
from apps.runtime.turns.operator_replies import hand_back, send_reviewed_draft, write_to_customer
from apps.runtime.turns.turn_events import ModelReplied, PersonStopped, WorkerStopping
from apps.runtime.turns.turn_machine import start_turn
from apps.runtime.turns.turn_progress import AskModel
from apps.runtime.turns.turn_states import TurnState, UnexpectedEvent
from apps.runtime.turns.waiting_messages import conversation_length
from apps.runtime.worker.sync_driver import answer_conversation
from apps.tenants.actions import amend_agent
from apps.tenants.due_work import due_work
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
)
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_profile, make_world

pytestmark = pytest.mark.django_db

Reason, Outcome = Escalation.Reason, Turn.Outcome


@pytest.fixture
def world() -> World:
    return make_world()


def set_mode(world: World, mode: str) -> None:
    amend_agent(world.agent, actor=world.admin, send_mode=mode)


def drafts(world: World) -> list[Draft]:
    with acting_as(world.operator):
        return list(Draft.objects.visible_to(world.operator).open())


def questions(world: World) -> list[tuple[str, str]]:
    with acting_as(world.operator):
        rows = Escalation.objects.visible_to(world.operator).open()
        return list(rows.values_list("reason", "opened_by"))


def test_a_suggested_reply_waits_and_what_a_person_sends_is_what_the_agent_remembers(
    world: World, standin: StandIn
) -> None:
    # R134, R138
    set_mode(world, "suggest")
    standin.play(reply("We open at nine."))
    turn = run_turn(world, send_customer_message(world, "When do you open?"), standin.backend)
    assert (turn.status, turn.outcome, turn.reply) == (Turn.Status.DONE, Outcome.DRAFTED, None)
    assert lines(world, turn.conversation_id) == [("customer", "When do you open?")]
    [draft] = drafts(world)
    assert (draft.text, draft.grounding, draft.turn_id) == ("We open at nine.", "none", turn.pk)
    assert "what you write is a draft" in standin.requests()[0]["messages"][0]["content"][0]["text"]
    send_reviewed_draft(draft, actor=world.operator, reviewed_sha256=draft.text_sha256, text="We open at ten.")
    set_mode(world, "autonomous")
    run_customer_turn(world, "Thanks", standin)
    contents = [message["content"] for message in standin.requests()[-1]["messages"] if message["role"] == "assistant"]
    assert [block["text"] for content in contents for block in content] == ["We open at ten."]


def test_a_later_message_supersedes_the_draft_that_waits(world: World, standin: StandIn) -> None:
    set_mode(world, "suggest")
    standin.play(reply("First."), reply("Second."))
    run_turn(world, send_customer_message(world, "Hello"), standin.backend)
    run_turn(world, send_customer_message(world, "Anybody?"), standin.backend)
    assert [draft.text for draft in drafts(world)] == ["Second."]


def test_an_observing_agent_tells_the_customer_nothing_and_keeps_what_it_noticed(
    world: World, standin: StandIn
) -> None:
    # R134
    set_mode(world, "observe")
    standin.play(reply("The customer is angry."))
    turn = run_turn(world, send_customer_message(world, "Hello"), standin.backend)
    assert (turn.outcome, drafts(world)) == (Outcome.OBSERVED, [])
    assert lines(world, turn.conversation_id) == [("customer", "Hello")]
    with acting_as(world.operator):
        assert ModelCall.objects.get(turn=turn).text == "The customer is angry."


def test_a_reply_that_repeats_the_profile_stands_on_it(world: World, standin: StandIn) -> None:
    # R136
    make_profile(world, preferences="Prefers to be called in the afternoon.")
    set_mode(world, "suggest")
    standin.play(reply("I know you prefer to be called in the afternoon."))
    run_turn(world, send_customer_message(world, "When will you call?"), standin.backend)
    assert drafts(world)[0].grounding == "profile"


@pytest.mark.parametrize("reason", REASONS)
def test_an_agent_hands_a_question_over_and_is_told_that_it_waits(
    world: World, standin: StandIn, reason: Escalation.Reason
) -> None:
    # R135, R136
    standin.play(tool("escalate", reason=reason.value, question="Do we ship to Malta?"), reply("I am asking."))
    turn = run_customer_turn(world, "Do you ship to Malta?", standin)
    assert questions(world) == [(reason.value, world.bot.label)]
    assert calls(world, turn)[0]["result"].startswith("A colleague has the question now.")
    run_customer_turn(world, "And?", standin)
    assert "One question that you handed to a colleague" in standin.requests()[-1]["messages"][-1]["content"][0]["text"]


@pytest.mark.parametrize("reason", ["bored", Reason.BUDGET.value, Reason.UNKNOWN_OUTCOME.value])
def test_a_reason_that_is_not_the_agents_is_refused_with_those_that_are(
    world: World, standin: StandIn, reason: str
) -> None:
    standin.play(tool("escalate", reason=reason, question="May I go?"), reply("Never mind."))
    [call] = calls(world, run_customer_turn(world, "Hello", standin))
    assert call["is_error"]
    assert "Give one of: customer_asked" in call["result"]
    assert questions(world) == []


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (reply("I will not.", stop_reason="refusal"), Reason.POLICY),
        (reply("Too long.", stop_reason="model_context_window_exceeded"), Reason.UNSUPPORTED),
        (reply(""), Reason.MISSING_KNOWLEDGE),
    ],
)
def test_a_turn_without_a_reply_asks_a_person(
    world: World, standin: StandIn, step: dict[str, object], reason: Escalation.Reason
) -> None:
    standin.play(step)
    turn = run_turn(world, send_customer_message(world, "Hello"), standin.backend)
    assert (turn.status, turn.outcome) == (Turn.Status.FAILED, Outcome.ESCALATED)
    assert [reason for reason, _ in questions(world)] == [reason.value]


def test_spent_steps_and_a_model_that_repeats_itself_ask_a_person(world: World, standin: StandIn) -> None:
    # R124, R125
    amend_agent(world.agent, actor=world.admin, max_steps=6)
    standin.play(*[tool("list_skills")] * 6)
    turn = run_turn(world, send_customer_message(world, "Hello"), standin.backend)
    assert (turn.failure_code, questions(world)[0][0]) == ("calls_repeated", "budget")
    assert len(standin.requests()) == 5


def test_a_conversation_that_was_taken_over_is_left_to_its_holder(world: World, standin: StandIn) -> None:
    event = send_customer_message(world, "Hello")
    take_over_conversation(event.conversation, actor=world.operator)
    answer_conversation(world.tenant.pk, event.conversation_id, backend=standin.backend)
    assert standin.requests() == []
    assert (world.tenant.pk, event.conversation_id) not in due_work("turns")
    held = event.conversation
    with acting_as(world.operator):
        seen = conversation_length(held)
    write_to_customer(held, actor=world.operator, text="I am Ana. How can I help?", seen_length=seen)
    hand_back(held, actor=world.operator)
    assert (world.tenant.pk, event.conversation_id) not in due_work("turns"), "what Ana answered is answered"
    standin.play(reply("As Ana said."))
    run_turn(world, send_customer_message(world, "Thanks"), standin.backend)
    assert "I am Ana" in str(standin.requests()[-1]["messages"])


@dataclass
class InterruptedModel:
    """A model during whose call somebody does something."""

    meanwhile: Callable[[], object]
    standin: StandIn

    def complete(self, request: ModelRequest) -> ModelReply:
        model_reply = self.standin.backend.complete(request)
        self.meanwhile()
        return model_reply


@pytest.mark.parametrize("step", [reply("Too late."), tool("list_skills")])
def test_a_turn_in_the_making_ends_without_a_word_when_a_person_takes_over(
    world: World, standin: StandIn, step: dict[str, object]
) -> None:
    standin.play(step)
    event = send_customer_message(world, "Hello")
    model = InterruptedModel(lambda: take_over_conversation(event.conversation, actor=world.operator), standin)
    answer_conversation(world.tenant.pk, event.conversation_id, backend=model)
    turn = turn_of(world, event)
    assert (turn.status, turn.outcome, turn.failure_code) == (Turn.Status.CANCELLED, Outcome.SILENT, "taken_over")
    assert lines(world, event.conversation_id) == [("customer", "Hello")]
    with acting_as(world.operator):
        assert ModelCall.objects.filter(turn=turn).count() == 1, "what was paid for stands in the books"


def test_a_turn_that_waits_for_its_model_ends_when_a_person_takes_over(world: World, standin: StandIn) -> None:
    standin.play(fault("overloaded"))
    event = send_customer_message(world, "Hello")
    turn = run_turn(world, event, standin.backend)
    take_over_conversation(event.conversation, actor=world.operator)
    expire_lease(world, turn)
    assert (world.tenant.pk, event.conversation_id) in due_work("turns")
    assert run_turn(world, event, standin.backend).status == Turn.Status.CANCELLED
    assert len(standin.requests()) == 1


def test_a_spent_account_pauses_the_agent_and_asks_an_operator_once(world: World, standin: StandIn) -> None:
    # R131
    standin.play(fault("spend_limit"), reply("Here I am."))
    event = send_customer_message(world, "Hello")
    turn = run_turn(world, event, standin.backend)
    assert (turn.status, turn.failure_code) == (Turn.Status.RUNNING, "spend_limit_reached")
    expire_lease(world, turn)
    run_turn(world, event, standin.backend)
    assert len(standin.requests()) == 1, "nothing is asked while the switch is on"
    assert [reason for reason, _ in questions(world)] == ["budget"]
    with acting_as(world.operator):
        [switch] = KillSwitch.objects.visible_to(world.operator).on()
    deactivate_kill_switch(switch, actor=world.operator)
    assert run_turn(world, event, standin.backend).status == Turn.Status.DONE


def test_a_message_says_how_many_steps_its_turn_may_take_and_the_latest_of_a_burst_counts(
    world: World, standin: StandIn
) -> None:
    # R124: the run's own number stands above those of channel and agent.
    amend_agent(world.agent, actor=world.admin, max_steps=6)
    standin.play(tool("list_skills"), tool("list_skills"))
    turn = run_turn(world, send_customer_message(world, "Hello", max_steps=2), standin.backend)
    assert (turn.failure_code, len(standin.requests())) == ("steps_spent", 2)
    send_customer_message(world, "One", thread="burst", max_steps=1)
    send_customer_message(world, "Two", thread="burst", max_steps=3)
    standin.play(tool("list_skills"), tool("get_skill", skill_id=1), reply("Done."))
    assert (
        run_turn(world, send_customer_message(world, "Three", thread="burst"), standin.backend).outcome
        == Outcome.REPLIED
    )
    standin.play(tool("list_skills"), tool("get_skill", skill_id=1), reply("Done."))
    assert (
        run_turn(world, send_customer_message(world, "As ever", thread="other"), standin.backend).outcome
        == Outcome.REPLIED
    )


@pytest.mark.parametrize("steps", [0, -1, 41])
def test_steps_beyond_reason_are_refused_by_the_action_and_by_the_database(world: World, steps: int) -> None:
    with pytest.raises(Invalid, match="1 to 40 steps"):
        send_customer_message(world, "Hello", max_steps=steps)
    event = send_customer_message(world, "Hello")
    with pytest.raises(IntegrityError), acting_as(world.bot):
        InboundEvent.objects.bulk_create(
            [
                InboundEvent(
                    tenant_id=event.tenant_id,
                    conversation_id=event.conversation_id,
                    idempotency_key=f"steps {steps}",
                    text="x",
                    text_sha256="x",
                    max_steps=steps,
                )
            ]
        )


def test_a_turn_that_its_worker_gave_back_takes_no_more_events(world: World) -> None:
    machine = start_turn(world.tenant.pk, send_customer_message(world, "Hello").conversation_id)
    assert machine is not None
    machine.advance(WorkerStopping())
    assert (machine.state, machine.effect) == (TurnState.RELEASED, None)
    with pytest.raises(UnexpectedEvent):
        machine.advance(PersonStopped())


def test_the_reply_of_a_worker_that_was_overtaken_ends_its_machine_and_not_the_turn(
    world: World, standin: StandIn
) -> None:
    event = send_customer_message(world, "Hello")
    machine = start_turn(world.tenant.pk, event.conversation_id)
    assert machine is not None
    assert isinstance(machine.effect, AskModel)
    expire_lease(world, machine.turn)
    other = start_turn(world.tenant.pk, event.conversation_id)
    assert other is not None
    standin.play(reply("Too late."))
    machine.advance(ModelReplied(standin.backend.complete(machine.effect.request)))
    assert (machine.state, machine.more_waits) == (TurnState.FENCE_LOST, False)
    assert other.state is TurnState.CALLING_MODEL
    assert turn_of(world, event).status == Turn.Status.RUNNING
