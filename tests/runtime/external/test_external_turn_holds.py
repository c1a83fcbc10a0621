"""What holds a turn of ours back holds one that an agent elsewhere takes: people, switches, money, silence, the record."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.conversations.actions import hand_back_conversation, resolve_conversation, take_over_conversation
from apps.conversations.models import Conversation, InboundEvent, Message
from apps.desk.models import Draft, Escalation
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, Invalid
from apps.kill_switches.actions import activate_kill_switch, deactivate_kill_switch
from apps.kill_switches.models import KillSwitch
from apps.learning.extraction.models import Extraction
from apps.learning.extraction.pipeline import extract_conversation
from apps.runtime.explain.reply_sources import explain_turn
from apps.runtime.external.turn_handout import ExternalTurn
from apps.runtime.models import ModelCall, ToolStep, Turn
from apps.runtime.off_the_record_erasure import erase_conversation
from apps.runtime.schedules.schedule_runner import collect_due_work
from apps.runtime.turns.operator_replies import answer_question, send_reviewed_draft, write_to_customer
from apps.runtime.worker.sync_driver import answer_conversation
from apps.tenants.actions import amend_agent, amend_settings
from apps.tenants.models import TenantSettings
from tests.support.drivers.conversation import lines
from tests.support.factories.external_turns import (
    conversation_of,
    model_answer,
    open_external_session,
    reload_turn,
    report_external_turn,
    tool_call_answer,
    tool_result,
    use_tool,
)
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_memory, make_persona, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


def thread_of(world: World, pk: int) -> Conversation:
    with acting_as(world.system):
        return Conversation.objects.select_related("agent").get(pk=pk)


def test_colleague_who_takes_over_locks_the_agent_out_and_what_it_spent_counts(world: World) -> None:
    # R108
    out = open_external_session(world, "Where is my parcel?")
    take_over_conversation(conversation_of(world, out), actor=world.operator)
    with pytest.raises(Conflict, match="A colleague has taken this conversation over"):
        use_tool(world, out, "list_skills")
    other = open_external_session(world, "Hello", thread="another")
    take_over_conversation(conversation_of(world, other), actor=world.operator)
    with pytest.raises(Conflict, match="Send nothing"):
        report_external_turn(world, other, model_answer("In Lyon."))
    assert (reload_turn(world, other).status, reload_turn(world, other).failure_code) == ("cancelled", "taken_over")
    with acting_as(world.system):
        assert ModelCall.objects.filter(turn=other.turn).count() == 1
    with pytest.raises(Conflict, match="taken this conversation over"):
        open_external_session(world, "Anybody?", thread="another")
    assert lines(world, other.session.conversation_id) == [("customer", "Hello")]


def test_worker_ends_the_turn_of_an_agent_elsewhere_where_a_colleague_answers(world: World, standin: StandIn) -> None:
    out = open_external_session(world, "Where is my parcel?")
    take_over_conversation(conversation_of(world, out), actor=world.operator)
    thread = out.session.conversation_id
    assert (world.tenant.pk, thread) in collect_due_work().turns
    answer_conversation(world.tenant.pk, thread, backend=standin.backend)
    assert (reload_turn(world, out).status, standin.requests()) == ("cancelled", [])
    held = conversation_of(world, out)
    message = write_to_customer(held, actor=world.operator, text="In Lyon.", seen_length=1)
    hand_back_conversation(conversation_of(world, out), actor=world.operator)
    again = open_external_session(world, "Thank you.")
    assert message.text in str(again.request.messages)


def test_reply_that_people_read_first_becomes_a_draft_and_is_sent_by_them(world: World) -> None:
    # R134
    amend_agent(world.agent, actor=world.admin, send_mode="suggest")
    out = open_external_session(world, "Where is my parcel?")
    assert "reads" in str(out.asked.wire) or "colleague" in str(out.asked.wire)
    result = report_external_turn(world, out, model_answer("In Lyon."))
    assert (result.may_send, result.turn.outcome, result.instruction[:13]) == (False, "drafted", "Send nothing.")
    with acting_as(world.operator):
        draft = Draft.objects.get(turn_id=out.turn.pk)
    send_reviewed_draft(draft, actor=world.operator, reviewed_sha256=draft.text_sha256)
    assert lines(world, out.session.conversation_id)[-1] == ("agent", "In Lyon.")


def test_agent_that_only_observes_is_told_to_send_nothing(world: World) -> None:
    amend_agent(world.agent, actor=world.admin, send_mode="observe")
    out = open_external_session(world, "Where is my parcel?")
    result = report_external_turn(world, out, model_answer("In Lyon."))
    assert (result.may_send, result.turn.outcome, result.draft_id) == (False, "observed", None)


def test_half_an_answer_leaves_only_by_a_person(world: World) -> None:
    out = open_external_session(world, "Where is my parcel?")
    result = report_external_turn(world, out, model_answer("It is in", stop_reason="max_tokens"))
    assert (result.may_send, result.turn.outcome) == (False, "drafted")


def test_refusal_of_the_model_asks_a_person(world: World) -> None:
    out = open_external_session(world, "Where is my parcel?")
    result = report_external_turn(world, out, model_answer("", stop_reason="refusal"))
    assert (result.turn.status, result.turn.outcome, result.turn.failure_code) == ("failed", "escalated", "refusal")


def test_paused_agent_is_handed_nothing_and_its_report_waits(world: World) -> None:
    out = open_external_session(world, "Where is my parcel?")
    switch = activate_kill_switch(
        KillSwitch.Kind.PAUSE_AGENT, actor=world.operator, reason="Rest.", agent_id=world.agent.pk
    )
    for refused in (
        lambda: open_external_session(world, "Hello?", thread="two"),
        lambda: report_external_turn(world, out, model_answer("In Lyon.")),
    ):
        with pytest.raises(Conflict, match="Send nothing"):
            refused()
    deactivate_kill_switch(switch, actor=world.operator)
    assert report_external_turn(world, out, model_answer("In Lyon.")).may_send
    assert open_external_session(world, thread="two").events[0].text == "Hello?"


def test_where_sending_is_paused_the_reply_waits_for_a_person(world: World) -> None:
    out = open_external_session(world, "Where is my parcel?")
    activate_kill_switch(KillSwitch.Kind.PAUSE_SENDING, actor=world.operator, reason="Look.")
    assert report_external_turn(world, out, model_answer("In Lyon.")).turn.outcome == "drafted"


def test_frozen_learning_holds_a_tool_that_keeps_something(world: World) -> None:
    make_memory(world)
    out = open_external_session(world, "Where is my parcel?")
    activate_kill_switch(KillSwitch.Kind.FREEZE_LEARNING, actor=world.operator, reason="Look.")
    assert "Nothing was written" in use_tool(world, out, "update_memory", body="New.")


def test_day_without_money_hands_nothing_out_and_takes_what_was_spent_already(world: World) -> None:
    make_persona(world)
    out = open_external_session(world, "Where is my parcel?")
    with acting_as(world.admin):
        settings = TenantSettings.objects.visible_to(world.admin).get()
    amend_settings(settings, actor=world.admin, day_budget_micro_usd=1)
    result = report_external_turn(world, out, model_answer("In Lyon."))
    assert result.may_send
    with pytest.raises(Conflict, match="budget of the day is spent"):
        open_external_session(world, "Thanks.")
    with acting_as(world.system):
        waiting = Turn.objects.get(conversation=out.session.conversation_id, status="running")
    assert waiting.failure_code == "day_budget_spent"
    amend_settings(settings, actor=world.admin, day_budget_micro_usd=None)
    again = open_external_session(world)
    assert again.turn.pk == waiting.pk
    assert report_external_turn(world, again, model_answer("Gladly."), key="second").may_send


def test_turn_that_nobody_reports_is_ended_by_a_worker_which_asks_a_person(world: World, standin: StandIn) -> None:
    out = open_external_session(world, "Where is my parcel?")
    thread = out.session.conversation_id
    assert (world.tenant.pk, thread) not in collect_due_work().turns
    with acting_as(world.system):
        Turn.objects.filter(pk=out.turn.pk).update(deadline_at=timezone.now() - timedelta(seconds=1))
    assert (world.tenant.pk, thread) in collect_due_work().turns
    answer_conversation(world.tenant.pk, thread, backend=standin.backend)
    turn = reload_turn(world, out)
    assert (turn.status, turn.failure_code, turn.external_user_turn, standin.requests()) == (
        "failed",
        "not_reported",
        None,
        [],
    )
    with acting_as(world.system):
        assert "fifteen minutes" in Escalation.objects.get(conversation=thread).question
    with pytest.raises(Conflict, match="within fifteen minutes"):
        report_external_turn(world, out, model_answer("In Lyon."))
    assert open_external_session(world, "Still there?").turn.pk != out.turn.pk


def insert_unopened_event(world: World, out: ExternalTurn, minutes: int) -> None:
    """Something was written so long ago, and nobody opened a session for it."""
    with acting_as(world.system):
        InboundEvent.objects.create(
            tenant_id=world.tenant.pk,
            conversation_id=out.session.conversation_id,
            idempotency_key=f"waits-{minutes}",
            text="Hello?",
            text_sha256="",
            due_at=timezone.now() - timedelta(minutes=minutes),
        )


def test_words_that_nobody_takes_are_a_persons_after_as_long(world: World, standin: StandIn) -> None:
    out = open_external_session(world, "Where is my parcel?")
    report_external_turn(world, out, model_answer("In Lyon."))
    thread = out.session.conversation_id
    insert_unopened_event(world, out, 14)
    assert (world.tenant.pk, thread) not in collect_due_work().turns
    answer_conversation(world.tenant.pk, thread, backend=standin.backend)
    insert_unopened_event(world, out, 16)
    assert (world.tenant.pk, thread) in collect_due_work().turns
    answer_conversation(world.tenant.pk, thread, backend=standin.backend)
    with acting_as(world.system):
        codes = list(Turn.objects.filter(conversation=thread).order_by("pk").values_list("failure_code", flat=True))
    assert (codes, standin.requests()) == (["", "not_reported"], [])


def test_what_a_person_tells_the_agent_is_handed_out_with_its_next_turn(world: World) -> None:
    # R136
    out = open_external_session(world, "May I pay later?")
    use_tool(world, out, "escalate", reason="policy", question="May they pay later?")
    report_external_turn(
        world,
        out,
        tool_call_answer("escalate", "call-1", reason="policy", question="May they pay later?"),
        tool_result("call-1", ""),
        model_answer("I have asked."),
    )
    with acting_as(world.operator):
        escalation = Escalation.objects.get(conversation=out.session.conversation_id)
    answer_question(escalation, actor=world.operator, answer="Until Friday.")
    assert "Until Friday." in str(open_external_session(world).asked.wire)


def test_off_the_record_nothing_is_kept_and_what_was_handed_out_is_forgotten(world: World) -> None:
    # R178
    out = open_external_session(world, "My number is 4711.", off_the_record=True)
    names = {tool.name for tool in out.request.tools}
    assert "get_skill" in names
    assert not {"update_memory", "draft_skill", "update_customer_profile"} & names
    assert "no tool update_memory" in use_tool(world, out, "update_memory", body="4711")
    assert report_external_turn(
        world,
        out,
        tool_call_answer("update_memory", "call-1", body="4711"),
        tool_result("call-1", ""),
        tool_call_answer("track", "c", number="4711"),
        tool_result("c", "4711 is in Lyon."),
        model_answer("4711 is in Lyon."),
    ).may_send
    resolve_conversation(conversation_of(world, out), actor=world.bot)
    erase_conversation(thread_of(world, out.session.conversation_id))
    with acting_as(world.system):
        kept = [
            *Message.objects.filter(conversation=out.session.conversation_id).values_list(
                "text", "tool_calls", "api_message"
            ),
            *InboundEvent.objects.filter(conversation=out.session.conversation_id).values_list("text"),
            *ModelCall.objects.filter(turn=out.turn).values_list("text", "user_turn", "assistant_message"),
            *ToolStep.objects.filter(turn=out.turn).values_list("arguments", "result"),
            *Turn.objects.filter(pk=out.turn.pk).values_list("external_user_turn", "user_turn_segments", "failure"),
        ]
    assert "4711" not in str(kept)
    open_external_session(world, "And now?", thread="third", off_the_record=True)
    with pytest.raises(Invalid, match="off the record"):
        open_external_session(world, "On it?", thread="third", off_the_record=False)


def test_conversation_run_elsewhere_is_learned_from_and_explained_like_ours(world: World, standin: StandIn) -> None:
    # R110, R112
    make_persona(world)
    out = open_external_session(world, "How do I cancel order B77?")
    report_external_turn(
        world,
        out,
        tool_call_answer("find_order", "a", order="B77"),
        tool_result("a", "Found, it is open."),
        tool_call_answer("cancel_order", "b", order="B77"),
        tool_result("b", "Done."),
        model_answer("Order B77 is cancelled."),
    )
    second = open_external_session(world, "Thank you, that is all.")
    report_external_turn(world, second, model_answer("You are welcome."), key="second")
    resolve_conversation(conversation_of(world, out), actor=world.bot, outcome=Conversation.Outcome.SOLVED)
    found = extract_conversation(out.session.conversation_id, actor=world.system, backend=standin.backend)
    assert found is not None
    assert found.verdict in {Extraction.Verdict.DRAFTED, Extraction.Verdict.NOTHING, Extraction.Verdict.MALFORMED}
    explanation = explain_turn(out.turn.pk, actor=world.operator)
    assert explanation is not None
    assert explanation.reply == "Order B77 is cancelled."
    assert {step.name for step in explanation.tool_steps} == {"find_order", "cancel_order"}
    assert {str(stood.place) for stood in explanation.sources} >= {"prompt", "turn", "tool"}
    assert not explanation.flaws
