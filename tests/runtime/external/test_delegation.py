"""One agent asks another: the question below, the answer above, and never silence (R054, R057)."""

from collections.abc import Callable

import pytest

from apps.conversations.actions import (
    abandon_conversation,
    receive_message,
    resolve_conversation,
    take_over_conversation,
)
from apps.conversations.delegation import TAKEN_OVER
from apps.conversations.models import Conversation, InboundEvent, Message
from apps.desk.models import Draft, Escalation
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal, Taint
from apps.prompt.rendering.scheduled_task import NOTHING_TO_REPORT
from apps.runtime.models import Turn
from apps.runtime.schedules.schedule_runner import run_if_due
from apps.runtime.turns.operator_replies import (
    answer_question,
    decline_draft,
    hand_back,
    send_reviewed_draft,
    write_to_customer,
)
from apps.runtime.turns.waiting_messages import conversation_length
from apps.runtime.worker.sync_driver import answer_conversation
from apps.tenants.actions import amend_agent
from apps.tenants.models import Agent
from apps.webhooks.models import Delivery
from tests.support.drivers.conversation import calls, lines, prompt, reply, tool
from tests.support.factories.delegations import (
    TASK,
    ask_billing,
    child_conversation,
    last_request,
    last_user_turn,
    received_answers,
    run_next_turn,
)
from tests.support.factories.schedules import make_due, make_schedule
from tests.support.servers.standin_model import StandIn
from tests.support.servers.webhook_receiver import make_webhook
from tests.support.worlds.world import World, make_invokable, make_persona, make_world

pytestmark = pytest.mark.django_db

Kind, Outcome = InboundEvent.Kind, Turn.Outcome
DEBT_ANSWER = "Forty euros, due on Friday."


@pytest.fixture
def world() -> World:
    world = make_world()
    make_invokable(world)
    return world


@pytest.fixture
def billing(world: World) -> Agent:
    with acting_as(world.system):
        return Agent.objects.get(key="billing")


def message_delegate(world: World, child: Conversation) -> Conversation:
    """An operator writes where one agent asked another."""
    receive_message(
        child.agent_id,
        actor=world.operator,
        channel=child.channel,
        conversation_key=child.conversation_key,
        text="Look again.",
        idempotency_key="again",
    )
    return child


def test_the_answer_comes_back_as_an_event_that_wakes_the_agent_which_tells_the_customer(
    world: World, standin: StandIn, billing: Agent
) -> None:
    # R054, R057
    parent = ask_billing(world, standin)
    child = child_conversation(world, parent)
    assert (child.agent_id, child.channel, child.hops) == (billing.pk, "agent", 1)
    assert (child.end_user_key, child.off_the_record) == (parent.end_user_key, False)
    turn = run_next_turn(world, child, standin, reply(DEBT_ANSWER))
    assert (turn.status, turn.outcome) == (Turn.Status.DONE, Outcome.REPLIED)
    question = last_user_turn(standin)
    assert "Another agent of your organisation asked you to work on this: " in question
    assert f"[Question of another agent · {world.agent.title} <agent:{world.agent.key}>]\n<data id=" in question
    assert "Delivery:" not in question
    assert "enqueue_parent" in {each["name"] for each in last_request(standin)["tools"]}
    assert received_answers(world, parent) == [("answer", DEBT_ANSWER)]
    relayed = run_next_turn(world, parent, standin, reply("You owe forty euros."))
    assert relayed.outcome == Outcome.REPLIED
    assert f"[Answer of another agent · {billing.title} <agent:billing>]\n<data id=" in last_user_turn(standin)
    assert "asked you to work on this" not in last_user_turn(standin)
    assert lines(world, parent.pk)[-2:] == [("peer", DEBT_ANSWER), ("agent", "You owe forty euros.")]
    answer_conversation(world.tenant.pk, parent.pk, backend=standin.backend)
    assert len(standin.requests()) == 4, "nothing waits any more"


def test_what_agents_say_to_each_other_is_told_to_no_webhook(world: World, standin: StandIn) -> None:
    make_webhook(world)
    parent = ask_billing(world, standin)
    run_next_turn(world, child_conversation(world, parent), standin, reply(DEBT_ANSWER))
    run_next_turn(world, parent, standin, reply("You owe forty euros."))
    with acting_as(world.operator):
        deliveries = Delivery.objects.values_list("event", "conversation_id")
        assert list(deliveries) == [("reply", parent.pk), ("reply", parent.pk)]


def test_only_who_may_ask_is_offered_the_tool_and_only_who_was_asked_may_pass_on(
    world: World, standin: StandIn
) -> None:
    parent = ask_billing(world, standin)
    assert {"delegate"} == {"delegate", "enqueue_parent"} & {each["name"] for each in last_request(standin)["tools"]}
    assert "- billing (" in prompt(last_request(standin))
    run_next_turn(world, child_conversation(world, parent), standin, reply(DEBT_ANSWER))
    assert {"enqueue_parent"} == {"delegate", "enqueue_parent"} & {
        each["name"] for each in last_request(standin)["tools"]
    }


def test_what_is_passed_on_by_the_tool_is_the_answer_once(world: World, standin: StandIn) -> None:
    # R054
    parent = ask_billing(world, standin, then="")
    child = child_conversation(world, parent)
    turn = run_next_turn(world, child, standin, tool("enqueue_parent", text=DEBT_ANSWER), reply(""))
    assert turn.outcome == Outcome.REPLIED
    assert received_answers(world, parent) == [("answer", DEBT_ANSWER)]
    assert lines(world, child.pk)[-1] == ("agent", DEBT_ANSWER)
    # The tool itself sends nothing; a colleague may have to read the answer first.
    assert str(calls(world, turn)[0]["result"]).startswith("Noted, not sent yet.")


def test_a_run_of_a_schedule_that_asks_waits_for_the_answer_and_posts_nowhere(world: World, standin: StandIn) -> None:
    # R121
    row = make_schedule(world)
    make_due(row, world)
    conversation_id = run_if_due(world.tenant.pk, row.pk)
    assert conversation_id is not None
    with acting_as(world.system):
        parent = Conversation.objects.select_related("agent").get(pk=conversation_id)
    asking = tool("delegate", agent_key="billing", task=TASK)
    assert run_next_turn(world, parent, standin, asking, reply(NOTHING_TO_REPORT)).outcome == Outcome.SILENT
    run_next_turn(world, child_conversation(world, parent), standin, reply(DEBT_ANSWER))
    assert run_next_turn(world, parent, standin, reply("Forty euros are owed.")).outcome == Outcome.OBSERVED
    with acting_as(world.system):
        assert Conversation.objects.get(pk=parent.pk).status == Conversation.Status.OPEN


def test_the_turn_that_asked_may_be_silent(world: World, standin: StandIn) -> None:
    parent = ask_billing(world, standin, then="")
    with acting_as(world.system):
        assert Turn.objects.get(conversation=parent).outcome == Outcome.SILENT
        assert not Message.objects.filter(conversation=parent, is_reply=True).exists()


def test_an_answer_that_waits_for_a_person_is_announced_and_comes_once_it_is_sent(
    world: World, standin: StandIn, billing: Agent
) -> None:
    # R134
    amend_agent(billing, actor=world.admin, send_mode="suggest")
    parent = ask_billing(world, standin)
    turn = run_next_turn(
        world, child_conversation(world, parent), standin, tool("enqueue_parent", text=DEBT_ANSWER), reply("Passed on.")
    )
    assert turn.outcome == Outcome.DRAFTED
    assert [kind for kind, _ in received_answers(world, parent)] == ["progress"]
    assert run_next_turn(world, parent, standin, reply("")).outcome == Outcome.SILENT
    with acting_as(world.operator):
        draft = Draft.objects.get()
    assert draft.text == DEBT_ANSWER
    send_reviewed_draft(draft, actor=world.operator, reviewed_sha256=draft.text_sha256)
    assert received_answers(world, parent)[1:] == [("answer", DEBT_ANSWER)]


def test_a_draft_that_is_turned_down_is_told(world: World, standin: StandIn, billing: Agent) -> None:
    amend_agent(billing, actor=world.admin, send_mode="suggest")
    parent = ask_billing(world, standin)
    run_next_turn(world, child_conversation(world, parent), standin, reply(DEBT_ANSWER))
    with acting_as(world.operator):
        draft = Draft.objects.get()
    decline_draft(draft, actor=world.operator, reason_code="wrong")
    assert received_answers(world, parent)[-1][0] == "answer"
    assert "not given" in received_answers(world, parent)[-1][1]


@pytest.mark.parametrize(
    ("mode", "message", "outcome"), [("observe", DEBT_ANSWER, Outcome.OBSERVED), ("autonomous", "", Outcome.ESCALATED)]
)
def test_an_agent_that_only_notes_or_fails_is_no_silence(
    world: World, standin: StandIn, billing: Agent, mode: str, message: str, outcome: str
) -> None:
    amend_agent(billing, actor=world.admin, send_mode=mode)
    parent = ask_billing(world, standin)
    assert run_next_turn(world, child_conversation(world, parent), standin, reply(message)).outcome == outcome
    [(kind, text)] = received_answers(world, parent)
    assert kind == "answer"
    assert "hand this to a colleague" in text or "A colleague was asked" in text
    assert DEBT_ANSWER not in text


def test_a_person_who_takes_the_question_over_answers_in_the_agents_place(world: World, standin: StandIn) -> None:
    parent = ask_billing(world, standin)
    child = take_over_conversation(child_conversation(world, parent), actor=world.operator)
    assert received_answers(world, parent) == [("progress", TAKEN_OVER)]
    take_over_conversation(child, actor=world.admin)
    with acting_as(world.operator):
        seen = conversation_length(child)
    write_to_customer(child, actor=world.admin, text=DEBT_ANSWER, seen_length=seen)
    assert received_answers(world, parent)[1:] == [("answer", DEBT_ANSWER)]
    hand_back(child, actor=world.admin)
    take_over_conversation(child, actor=world.operator)
    assert len(received_answers(world, parent)) == 2, "nobody waits any more"


@pytest.mark.slow
def test_the_answer_of_a_colleague_to_what_the_other_agent_escalated_comes_back_too(
    world: World, standin: StandIn
) -> None:
    # R138
    parent = ask_billing(world, standin)
    child = child_conversation(world, parent)
    handing = tool("escalate", reason="missing_knowledge", question="What is owed?")
    run_next_turn(world, child, standin, handing, reply("A colleague looks."))
    with acting_as(world.operator):
        escalation = Escalation.objects.select_related("conversation__agent").get()
    answer_question(escalation, actor=world.operator, answer=DEBT_ANSWER)
    run_next_turn(world, child, standin, reply("It is forty euros."))
    assert [text for _, text in received_answers(world, parent)] == ["A colleague looks.", "It is forty euros."]
    run_next_turn(world, message_delegate(world, child), standin, handing, reply("A colleague looks."))
    resolve_conversation(child, actor=world.operator)
    with acting_as(world.operator):
        again = Escalation.objects.open().select_related("conversation__agent").get()
    answer_question(again, actor=world.operator, answer="Nothing more.")
    assert received_answers(world, parent)[-1] == ("answer", "Nothing more.")


@pytest.mark.parametrize("end", [resolve_conversation, abandon_conversation])
def test_a_question_that_somebody_closes_unanswered_is_told_and_an_answered_one_is_not(
    world: World, standin: StandIn, end: Callable[..., Conversation]
) -> None:
    parent = ask_billing(world, standin)
    child = child_conversation(world, parent)
    take_over_conversation(child, actor=world.operator)
    end(child, actor=world.operator)
    [_, (kind, text)] = received_answers(world, parent)
    assert (kind, "closed without an answer" in text) == ("answer", True)
    run_next_turn(world, parent, standin, tool("delegate", agent_key="billing", task=TASK), reply("One moment."))
    with acting_as(world.system):
        second = Conversation.objects.select_related("agent").filter(parent=parent).latest("pk")
    run_next_turn(world, second, standin, reply(DEBT_ANSWER))
    end(second, actor=world.operator)
    assert [text for _, text in received_answers(world, parent)][2:] == [DEBT_ANSWER]


def test_an_answer_to_a_conversation_that_has_ended_goes_to_a_person(world: World, standin: StandIn) -> None:
    parent = ask_billing(world, standin)
    resolve_conversation(parent, actor=world.operator)
    run_next_turn(world, child_conversation(world, parent), standin, reply(DEBT_ANSWER))
    assert received_answers(world, parent) == []
    with acting_as(world.operator):
        escalation = Escalation.objects.get()
    assert DEBT_ANSWER in escalation.question


def test_what_another_agent_said_is_held_to_be_the_customers(world: World, standin: StandIn) -> None:
    make_persona(world)
    parent = ask_billing(world, standin)
    secret = "The customer pays by cheque and lives at number seven."
    run_next_turn(world, child_conversation(world, parent), standin, reply(secret))
    run_next_turn(world, parent, standin, tool("propose_persona_patch", text=secret), reply("Noted."))
    with acting_as(world.operator):
        assert Proposal.objects.get().taint == Taint.CUSTOMER


def test_off_the_record_stays_off_the_record_below(world: World, standin: StandIn) -> None:
    # R178
    parent = ask_billing(world, standin, off=True)
    assert child_conversation(world, parent).off_the_record is True


def test_off_the_record_a_person_is_told_of_a_late_answer_without_its_words(world: World, standin: StandIn) -> None:
    # R178
    parent = ask_billing(world, standin, off=True)
    resolve_conversation(parent, actor=world.operator)
    run_next_turn(world, child_conversation(world, parent), standin, reply(DEBT_ANSWER))
    with acting_as(world.operator):
        question = Escalation.objects.get().question
    assert f"after conversation {parent.pk} had ended" in question
    assert DEBT_ANSWER not in question
