"""Schedules that come due: what a tick writes, and what the agent makes of it (R119-R122)."""

from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from apps.conversations.models import Conversation, InboundEvent, Message
from apps.desk.models import Draft, Escalation
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, IllegalTransition, NotPermitted, NotVisible
from apps.kill_switches.actions import activate_kill_switch, deactivate_kill_switch
from apps.kill_switches.models import KillSwitch
from apps.prompt.rendering.scheduled_task import NOTHING_TO_REPORT
from apps.runtime.models import Turn
from apps.runtime.schedules.run_history import outcome_totals
from apps.runtime.schedules.schedule_runner import run_due_schedules, run_if_due, run_schedule_now
from apps.runtime.worker.sync_driver import answer_conversation
from apps.schedules.models import Schedule, ScheduleClock, ScheduleRun
from apps.skills.actions import deprecate_skill
from apps.tenants.actions import amend_agent
from apps.tenants.due_work import due_work
from tests.runtime.turns.test_turn import OvertakenModel
from tests.support.drivers.conversation import reply, tool
from tests.support.factories.schedules import make_due, make_paused_schedule, make_schedule, make_schedule_draft
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_skill, make_switch, make_world

pytestmark = pytest.mark.django_db

Result, Status, Outcome = ScheduleRun.Result, Schedule.Status, Turn.Outcome


@pytest.fixture
def world() -> World:
    return make_world()


def runs(world: World) -> list[ScheduleRun]:
    with acting_as(world.operator):
        return list(ScheduleRun.objects.select_related("conversation"))


def run_tick(world: World, schedule: Schedule) -> int | None:
    return run_if_due(world.tenant.pk, schedule.pk)


def run_due_turn(world: World, schedule: Schedule, standin: StandIn) -> Turn:
    """The turn of a schedule that came due."""
    make_due(schedule, world)
    conversation_id = run_tick(world, schedule)
    assert conversation_id is not None
    answer_conversation(world.tenant.pk, conversation_id, backend=standin.backend)
    with acting_as(world.operator):
        return Turn.objects.select_related("conversation").get(conversation=conversation_id)


def messages(world: World) -> list[tuple[str, str]]:
    with acting_as(world.operator):
        return list(Message.objects.values_list("sender", "text"))


def next_run_at(schedule: Schedule, world: World) -> datetime:
    with acting_as(world.operator):
        return ScheduleClock.objects.get(schedule=schedule).next_run_at


def test_a_tick_writes_run_conversation_event_and_next_time_in_one_commit(world: World) -> None:
    # R120
    row = make_schedule(world, channel="slack", instruction="Mind the weather.")
    make_due(row, world)
    assert due_work("schedule_runs") == [(world.tenant.pk, row.pk)]
    run_due_schedules(due_work("schedule_runs"))
    [run] = runs(world)
    assert (run.result, run.missed_count, run.requested_by) == (Result.STARTED, 0, "")
    assert run.conversation is not None
    assert (run.conversation.channel, run.conversation.end_user_key) == ("slack", "")
    assert run.conversation.follows_id is None
    with acting_as(world.operator):
        event = InboundEvent.objects.get()
    assert (event.kind, event.sent_by) == ("schedule", world.operator.label)
    assert "Mind the weather." in event.text
    assert "1. Note how they wish to be reached." in event.text
    assert next_run_at(row, world) > timezone.now()
    assert due_work("schedule_runs") == []
    assert run_tick(world, row) is None


def test_the_agent_follows_the_skill_in_a_fresh_session_and_its_report_is_posted(
    world: World, standin: StandIn
) -> None:
    # R120, R121, R140
    standin.play(reply("All parcels arrived."))
    turn = run_due_turn(world, make_schedule(world, channel="slack"), standin)
    assert (turn.status, turn.outcome) == (Turn.Status.DONE, Outcome.REPLIED)
    assert messages(world)[-1] == ("agent", "All parcels arrived.")
    [sent] = standin.requests()
    assert len(sent["messages"]) == 1
    prompt_text = sent["messages"][0]["content"][0]["text"]
    assert "[Scheduled instruction from your owner — not the contact]\nNobody wrote to you" in prompt_text
    assert NOTHING_TO_REPORT in prompt_text
    assert "Nobody wrote to you" not in str(sent["system"])


@pytest.mark.slow
def test_a_scheduled_turn_has_fifteen_steps(world: World, standin: StandIn) -> None:
    # R124
    amend_agent(world.agent, actor=world.admin, max_steps=2)
    standin.play(*(tool("get_skill", skill_id=number) for number in range(1, 20)))
    turn = run_due_turn(world, make_schedule(world, channel="slack"), standin)
    assert (turn.failure_code, len(standin.requests())) == ("steps_spent", 15)


def test_a_worker_that_lost_the_run_posts_nothing(world: World, standin: StandIn, settings: Settings) -> None:
    # R122
    settings.TURN_LEASE_SECONDS = 0
    row = make_schedule(world, channel="slack")
    make_due(row, world)
    conversation_id = run_tick(world, row)
    assert conversation_id is not None
    standin.play(reply("Too late."), reply("In time."))
    answer_conversation(world.tenant.pk, conversation_id, backend=OvertakenModel(world, standin, conversation_id))
    assert [text for sender, text in messages(world) if sender == "agent"] == ["In time."]


@pytest.mark.parametrize("message", [NOTHING_TO_REPORT, f"{NOTHING_TO_REPORT}\n"])
def test_nothing_to_report_posts_nothing_and_leaves_no_open_conversation(
    world: World, standin: StandIn, message: str
) -> None:
    # R121
    standin.play(reply(message))
    turn = run_due_turn(world, make_schedule(world, channel="slack"), standin)
    assert (turn.status, turn.outcome, turn.reply) == (Turn.Status.DONE, Outcome.SILENT, None)
    assert turn.conversation.status == Conversation.Status.ABANDONED
    assert [sender for sender, _ in messages(world)] == ["operator"]
    with acting_as(world.operator):
        assert not Draft.objects.visible_to(world.operator).exists()
        assert not Escalation.objects.visible_to(world.operator).exists()


@pytest.mark.slow
def test_what_came_of_runs_is_counted(world: World, standin: StandIn) -> None:
    # R121
    row = make_schedule(world, channel="slack")
    standin.play(reply(NOTHING_TO_REPORT), reply(NOTHING_TO_REPORT), reply("A parcel was lost."))
    for _ in range(3):
        run_due_turn(world, row, standin)
    make_due(row, world, timedelta(hours=1))
    run_tick(world, row)
    make_due(row, world)
    run_tick(world, row)
    with acting_as(world.operator), CaptureQueriesContext(connection) as asked:
        assert outcome_totals(row) == [
            ("nothing to report", 2),
            ("posted", 1),
            ("skipped", 1),
            ("waits for a worker", 1),
        ]
    assert len(asked) == 1


def test_the_report_obeys_the_send_mode(world: World, standin: StandIn) -> None:
    # R134
    amend_agent(world.agent, actor=world.admin, send_mode="suggest")
    standin.play(reply("All parcels arrived."))
    turn = run_due_turn(world, make_schedule(world, channel="slack"), standin)
    assert turn.outcome == Outcome.DRAFTED
    with acting_as(world.operator):
        assert Draft.objects.visible_to(world.operator).open().get().text == "All parcels arrived."


def test_a_schedule_without_a_channel_posts_nowhere(world: World, standin: StandIn) -> None:
    standin.play(reply("All parcels arrived."))
    turn = run_due_turn(world, make_schedule(world), standin)
    assert (turn.outcome, turn.conversation.channel) == (Outcome.OBSERVED, "schedule")
    assert [sender for sender, _ in messages(world)] == ["operator"]


def test_a_run_without_an_approved_skill_is_refused_and_says_so(world: World) -> None:
    # R120
    skill = make_skill(world, "approved")
    row = make_schedule(world, skill=skill)
    deprecate_skill(skill, actor=world.operator)
    make_due(row, world)
    assert run_tick(world, row) is None
    [run] = runs(world)
    assert (run.result, run.code, run.conversation) == (Result.REFUSED, "skill_not_found", None)
    assert "not approved" in run.reason
    assert next_run_at(row, world) > timezone.now()
    with pytest.raises(Conflict, match="not approved"):
        run_schedule_now(row.pk, actor=world.operator)


def test_a_skill_withdrawn_before_the_turn_began_is_not_followed_and_a_person_is_asked(
    world: World, standin: StandIn
) -> None:
    # R120, R122
    skill = make_skill(world, "approved")
    row = make_schedule(world, skill=skill, channel="slack")
    make_due(row, world)
    conversation_id = run_tick(world, row)
    assert conversation_id is not None
    deprecate_skill(skill, actor=world.operator)
    answer_conversation(world.tenant.pk, conversation_id, backend=standin.backend)
    with acting_as(world.operator):
        turn = Turn.objects.get()
        assert Escalation.objects.visible_to(world.operator).open().count() == 1
    assert (turn.outcome, turn.failure_code) == (Outcome.ESCALATED, "skill_not_found")
    assert standin.requests() == []


def test_a_skill_of_another_agent_or_a_draft_is_not_run(world: World) -> None:
    row = make_schedule(world, skill=make_skill(world))
    make_due(row, world)
    assert run_tick(world, row) is None
    assert runs(world)[0].code == "skill_not_found"


@pytest.mark.parametrize(("policy", "result", "missed"), [("skip", Result.SKIPPED, 3), ("once", Result.STARTED, 2)])
def test_runs_that_were_missed_are_counted_and_made_up_for_as_the_plan_says(
    world: World, policy: str, result: str, missed: int
) -> None:
    row = make_schedule(
        world, cron=f"{timezone.now() - timedelta(hours=2):%M %H} * * *", timezone="UTC", missed_runs=policy
    )
    make_due(row, world, timedelta(days=2, hours=2))
    run_tick(world, row)
    [run] = runs(world)
    assert (run.result, run.missed_count) == (result, missed)
    assert run.reason if result == Result.SKIPPED else run.conversation


def test_a_paused_agent_begins_nothing_by_itself(world: World) -> None:
    row = make_schedule(world, channel="slack")
    make_due(row, world)
    switch = make_switch(world)
    assert due_work("schedule_runs") == []
    deactivate_kill_switch(switch, actor=world.operator)
    assert due_work("schedule_runs") == [(world.tenant.pk, row.pk)]
    activate_kill_switch(KillSwitch.Kind.PAUSE_AGENT, actor=world.operator, reason="Rest.", channel="slack")
    assert due_work("schedule_runs") == []


def test_no_run_begins_beside_one_that_has_not_ended(world: World) -> None:
    row = make_schedule(world)
    make_due(row, world)
    run_tick(world, row)
    make_due(row, world)
    assert run_tick(world, row) is None
    assert [run.code for run in runs(world)] == ["still_running", ""]


def test_a_person_runs_an_approved_or_paused_schedule_beside_its_plan(world: World, standin: StandIn) -> None:
    row = make_paused_schedule(world)
    before = next_run_at(row, world)
    run = run_schedule_now(row.pk, actor=world.operator)
    assert (run.result, run.requested_by) == (Result.STARTED, world.operator.label)
    assert next_run_at(row, world) == before
    with pytest.raises(Conflict, match="has not ended"):
        run_schedule_now(row.pk, actor=world.operator)
    with pytest.raises(IllegalTransition, match="Approve it"):
        run_schedule_now(make_schedule_draft(world).pk, actor=world.operator)
    with pytest.raises(NotPermitted):
        run_schedule_now(row.pk, actor=world.bot)
    with pytest.raises(NotVisible):
        run_schedule_now(row.pk, actor=make_world().operator)


@pytest.mark.parametrize("policy", ["skip", "once"])
def test_a_time_that_was_run_already_is_passed_over_and_the_next_one_comes(world: World, policy: str) -> None:
    row = make_schedule(world, missed_runs=policy)
    make_due(row, world)
    run_tick(world, row)
    [run] = runs(world)
    with acting_as(world.operator):
        ScheduleClock.objects.filter(schedule=row).update(next_run_at=run.planned_at)
    assert run_tick(world, row) is None
    assert len(runs(world)) == 1
    assert next_run_at(row, world) > timezone.now()
