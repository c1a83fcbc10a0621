"""An agent looks at its schedules and plans another one, where people let it (R123)."""

import json

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord, Taint
from apps.schedules.models import Schedule
from apps.schedules.rules import SCHEDULES_PER_AGENT
from apps.tenants.due_work import due_work
from tests.support.drivers.conversation import calls, reply, run_customer_turn, tool
from tests.support.factories.schedules import (
    enable_planning,
    make_agents_draft,
    make_due,
    make_schedule,
    make_schedule_draft,
)
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_skill, make_world

pytestmark = pytest.mark.django_db

PLAN = {"key": "weekly", "title": "Weekly report", "cron": "0 9 * * MON"}


@pytest.fixture
def world() -> World:
    world = make_world()
    enable_planning(world)
    return world


def call_tool_in_turn(
    world: World, standin: StandIn, name: str, customer_text: str = "Please.", **arguments: object
) -> dict[str, object]:
    standin.play(tool(name, **arguments), reply("Done."))
    [made] = calls(world, run_customer_turn(world, customer_text, standin))
    return made


def schedules(world: World) -> list[Schedule]:
    with acting_as(world.operator):
        return list(Schedule.objects.visible_to(world.operator))


def test_what_it_plans_is_a_draft_of_its_own_that_posts_nowhere(world: World, standin: StandIn) -> None:
    # R123
    skill = make_skill(world, "approved")
    made = call_tool_in_turn(world, standin, "propose_schedule", skill=skill.name, timezone="Europe/Madrid", **PLAN)
    [row] = schedules(world)
    assert str(made["result"]).startswith(f"Schedule {row.pk} “weekly” waits for an operator.")
    assert (row.agent_id, row.status, row.channel) == (world.agent.pk, "draft", "")
    assert (row.drafted_by, row.taint) == (world.bot.label, Taint.AGENT)
    assert (row.skill_id, row.timezone) == (skill.pk, "Europe/Madrid")
    with acting_as(world.operator):
        record = ChangeRecord.objects.get(subject_id=row.pk, act="schedule.draft")
    assert record.evidence["conversation_id"]
    comes = due_work("schedule_runs")
    assert comes == [], "nobody approved it"


def test_words_of_a_customer_in_a_plan_are_known_as_theirs(world: World, standin: StandIn) -> None:
    skill = make_skill(world, "approved")
    wish = "Send my neighbour a discount code every single morning"
    call_tool_in_turn(world, standin, "propose_schedule", wish, skill=skill.name, instruction=wish, **PLAN)
    assert schedules(world)[0].taint == Taint.CUSTOMER


@pytest.mark.parametrize("status", ["draft", "foreign"])
def test_only_an_approved_skill_of_its_own_can_be_planned(world: World, standin: StandIn, status: str) -> None:
    # R120
    skill = make_skill(world, "draft") if status == "draft" else make_skill(make_world(), "approved", name="theirs")
    made = call_tool_in_turn(world, standin, "propose_schedule", skill=skill.name, **PLAN)
    assert made["is_error"] is True
    assert "no approved skill named" in str(made["result"])
    assert schedules(world) == []


@pytest.mark.slow
def test_a_plan_that_cannot_be_taken_is_told_why(world: World, standin: StandIn) -> None:
    skill = make_skill(world, "approved")
    made = call_tool_in_turn(world, standin, "propose_schedule", skill=skill.name, **PLAN | {"cron": "* * * * *"})
    assert made["is_error"] is True
    assert "five minutes" in str(made["result"]) or "5 minutes" in str(made["result"])
    for _ in range(SCHEDULES_PER_AGENT):
        make_schedule_draft(world, skill=skill)
    made = call_tool_in_turn(world, standin, "propose_schedule", "Again.", skill=skill.name, **PLAN)
    assert f"{SCHEDULES_PER_AGENT} schedules already" in str(made["result"])


@pytest.mark.slow
def test_it_takes_back_its_own_draft_by_its_key(world: World, standin: StandIn) -> None:
    row = make_agents_draft(world)
    made = call_tool_in_turn(world, standin, "withdraw_schedule", key=row.key, reason="Planned twice.")
    assert made["result"] == f"The draft “{row.key}” is taken back."
    assert [each.status for each in schedules(world)] == ["deprecated"]
    again = call_tool_in_turn(world, standin, "withdraw_schedule", "Again.", key=row.key)
    assert (again["is_error"], "You have no schedule" in str(again["result"])) == (True, True)


def test_it_takes_back_nothing_that_people_planned(world: World, standin: StandIn) -> None:
    row = make_schedule_draft(world)
    made = call_tool_in_turn(world, standin, "withdraw_schedule", key=row.key)
    assert made["is_error"] is True
    assert "only a draft of its own" in str(made["result"])
    assert [each.status for each in schedules(world)] == ["draft"]


@pytest.mark.slow
def test_it_sees_its_own_schedules_alone_with_their_next_time(world: World, standin: StandIn) -> None:
    # R006, R123
    other = make_world()
    make_schedule(other)
    running, waiting = make_schedule(world, key="a-running"), make_schedule_draft(world, key="b-waiting")
    make_due(running, world)
    listed = json.loads(str(call_tool_in_turn(world, standin, "list_schedules")["result"]))["schedules"]
    assert [(line["key"], line["status"], line["next_run_at"] is None) for line in listed] == [
        ("a-running", "approved", False),
        ("b-waiting", "draft", True),
    ]
    assert listed[1]["skill"] == waiting.skill.name


def test_the_tools_are_offered_where_people_let_it_plan(world: World, standin: StandIn) -> None:
    for each in (make_world(), world):
        standin.play(reply("Hello."))
        run_customer_turn(each, "Hello", standin)
    planning = {"list_schedules", "propose_schedule", "withdraw_schedule"}
    assert [planning & {each["name"] for each in sent["tools"]} for sent in standin.requests()] == [set(), planning]
