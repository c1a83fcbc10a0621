"""What becomes of an agent's day: one row, a few drafts at most, and nothing of a customer in what is read or written (R119)."""

import json
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from django.db.models.functions import Now
from django.utils import timezone
from pytest_django import Settings

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord, Proposal
from apps.kill_switches.actions import activate_kill_switch, deactivate_kill_switch
from apps.kill_switches.models import KillSwitch
from apps.learning.reflection.models import Reflection
from apps.learning.reflection.pipeline import attempt_reflection, reflect_on_latest_day
from apps.learning.reflection.reflection_day import day_to_reflect_on
from apps.learning.reflection.reflection_runs import DayAlreadySettled, DayOutcome, claim_day, settle_day
from apps.learning.retry_delay import MOST_FAILURES
from apps.llm.model_backend import BadRequest, ModelReply, ModelRequest, Overloaded
from apps.skills.actions import deprecate_skill
from apps.skills.models import Skill
from apps.tenants.actions import amend_agent
from apps.tenants.due_work import due_work
from tests.support.database.raw_sql_as_role import NO_RIGHT, run_and_undo
from tests.support.drivers.conversation import fault, reply
from tests.support.factories.reflections import enable_reflection, evening, make_day, run_reflection
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_skill, make_world

Verdict = Reflection.Verdict
RUNBOOK_BODY = "## When to Use\nx\n## Procedure\n1. Call `refund_order`.\n## Pitfalls\nx\n## Verification\nx"


@pytest.fixture
def world(db: None) -> World:
    return make_world()


def drafts(world: World) -> list[Skill]:
    with acting_as(world.operator):
        return list(Skill.objects.visible_to(world.operator).drafts())


def runbooks(*skills: dict[str, object]) -> dict[str, object]:
    whole = {
        "name": "greet",
        "title": "Greet",
        "description": "How to greet.",
        "body": RUNBOOK_BODY,
        "conversations": [1, 2],
    }
    return reply(json.dumps({"skills": [whole | skill for skill in skills]}))


def test_what_several_conversations_show_is_one_draft_that_waits(world: World, standin: StandIn) -> None:
    # R119
    read = make_day(world, 3)
    found = run_reflection(world, standin.backend)
    [skill] = drafts(world)
    assert (found.verdict, found.skill_ids, found.is_stand_in) == (Verdict.DRAFTED, [skill.pk], True)
    assert found.conversation_ids == [row.pk for row in read]
    assert found.input_tokens > 0
    assert (skill.taint, skill.status) == ("customer", "draft")
    with acting_as(world.operator):
        assert ChangeRecord.objects.get(act="skill.draft").evidence == {"conversation_ids": found.conversation_ids}
        assert Proposal.objects.get().support_count == 3
    [body] = standin.requests()
    assert "tools" not in body
    assert body["output_config"]["format"]["type"] == "json_schema"


def test_a_day_is_read_once(world: World, standin: StandIn) -> None:
    make_day(world)
    run_reflection(world, standin.backend)
    assert reflect_on_latest_day(world.agent.pk, actor=world.system, backend=standin.backend, now=evening()) is None
    assert len(standin.requests()) == 1


def test_nothing_of_a_customer_is_read(world: World, standin: StandIn) -> None:
    # R115
    make_day(world)
    run_reflection(world, standin.backend)
    [body] = standin.requests()
    sent = json.dumps(body["messages"])
    assert "Conversation 2" in sent
    assert "abc0" not in sent


@pytest.mark.parametrize(("conversations", "hidden"), [(0, False), (1, False), (3, True)])
def test_a_quiet_day_costs_no_call_and_is_counted(
    world: World, standin: StandIn, conversations: int, hidden: bool
) -> None:
    # R178
    make_day(world, conversations, off_the_record=hidden)
    found = run_reflection(world, standin.backend)
    assert (found.verdict, found.model, standin.requests()) == (Verdict.TOO_FEW, "", [])
    assert found.reason


def test_what_the_model_answers_is_vetted(world: World, standin: StandIn) -> None:
    make_day(world)
    standin.play(
        runbooks(
            {"conversations": [1]}, {"name": "two", "body": "No sections."}, {"name": "three", "conversations": [9]}
        )
    )
    found = run_reflection(world, standin.backend)
    assert found.verdict == Verdict.REFUSED
    assert "greet names 1 conversations" in found.reason
    assert "lacks the sections" in found.reason
    assert "three names 0 conversations" in found.reason
    assert drafts(world) == []


@pytest.mark.parametrize(
    ("answer", "verdict"), [('{"skills": []}', Verdict.NOTHING), ("No.", Verdict.MALFORMED), ("{}", Verdict.MALFORMED)]
)
def test_an_answer_without_a_skill_teaches_nothing(
    world: World, standin: StandIn, answer: str, verdict: Verdict
) -> None:
    make_day(world)
    standin.play(reply(answer))
    assert run_reflection(world, standin.backend).verdict == verdict


def test_what_the_agent_knows_already_is_drafted_no_second_time(world: World, standin: StandIn) -> None:
    make_day(world)
    standin.play(runbooks({}, {"title": "Greet again"}))
    found = run_reflection(world, standin.backend)
    assert (found.verdict, len(drafts(world))) == (Verdict.DRAFTED, 1)
    assert "The agent has greet." in found.reason


def test_a_draft_under_the_name_of_a_retired_skill_is_refused_alone(world: World, standin: StandIn) -> None:
    deprecate_skill(make_skill(world, name="greet"), actor=world.operator)
    make_day(world)
    other = RUNBOOK_BODY.replace("refund_order", "change_address")
    standin.play(runbooks({}, {"name": "move", "title": "Move", "description": "How to move.", "body": other}))
    found = run_reflection(world, standin.backend)
    [skill] = drafts(world)
    assert (found.verdict, found.skill_ids, skill.name) == (Verdict.DRAFTED, [skill.pk], "move")
    assert "greet was refused: This agent has a skill of that name already" in found.reason
    assert "Drafted move from 2 conversations." in found.reason


def test_a_day_whose_only_draft_is_refused_says_so(world: World, standin: StandIn) -> None:
    deprecate_skill(make_skill(world, name="greet"), actor=world.operator)
    make_day(world)
    standin.play(runbooks({}))
    found = run_reflection(world, standin.backend)
    assert (found.verdict, found.skill_ids) == (Verdict.REFUSED, [])
    assert "greet was refused" in found.reason
    assert drafts(world) == []


def test_a_failing_model_puts_the_day_off_and_is_asked_no_more_after_many_times(world: World, standin: StandIn) -> None:
    make_day(world)
    standin.play(fault("overloaded"), fault("overloaded"))
    with pytest.raises(Overloaded):
        run_reflection(world, standin.backend)
    assert reflect_on_latest_day(world.agent.pk, actor=world.system, backend=standin.backend, now=evening()) is None
    with acting_as(world.system):
        row = Reflection.objects.get()
        assert (row.verdict, row.failures) == (Verdict.WAITING, 1)
        Reflection.objects.update(next_attempt_at=Now(), failures=MOST_FAILURES - 1)
    assert run_reflection(world, standin.backend).verdict == Verdict.FAILED


class RefusingModel:
    """An endpoint that cannot read the request."""

    def complete(self, request: ModelRequest) -> ModelReply:
        raise BadRequest(f"{request.model} cannot read this.")


def test_a_request_that_is_wrong_in_itself_is_not_asked_again(world: World) -> None:
    make_day(world)
    assert run_reflection(world, RefusingModel()).verdict == Verdict.FAILED


def test_who_comes_second_leaves_nothing(world: World, standin: StandIn) -> None:
    make_day(world)
    day = day_to_reflect_on(evening(), ZoneInfo("UTC"))
    first = claim_day(world.agent.pk, day, actor=world.system)
    assert first is not None
    assert claim_day(world.agent.pk, day, actor=world.system) is None
    with acting_as(world.system):
        Reflection.objects.update(lease_until=Now())
    assert run_reflection(world, standin.backend).verdict == Verdict.DRAFTED
    with pytest.raises(DayAlreadySettled):
        settle_day(first, DayOutcome(Verdict.TOO_FEW, "Too late."), actor=world.system)


def test_only_an_agent_that_learns_and_reflects_has_days(world: World, standin: StandIn) -> None:
    assert due_work("reflections") == []
    enable_reflection(world)
    assert due_work("reflections") == [(world.tenant.pk, world.agent.pk)]
    held = activate_kill_switch(
        KillSwitch.Kind.FREEZE_LEARNING, actor=world.operator, reason="Stop.", agent_id=world.agent.pk
    )
    assert due_work("reflections") == []
    assert reflect_on_latest_day(world.agent.pk, actor=world.system, backend=standin.backend, now=evening()) is None
    deactivate_kill_switch(held, actor=world.operator)
    amend_agent(world.agent, actor=world.admin, has_learning=False)
    assert due_work("reflections") == []
    assert reflect_on_latest_day(world.agent.pk, actor=world.system, backend=standin.backend, now=evening()) is None


def test_an_attempt_works_for_the_tenant_that_came_with_the_id(
    world: World, standin: StandIn, settings: Settings
) -> None:
    # R116
    settings.ANTHROPIC_BASE_URL = standin.url
    enable_reflection(world)
    attempt_reflection(make_world().tenant.pk, world.agent.pk)
    with acting_as(world.system):
        assert not Reflection.objects.exists()
    attempt_reflection(world.tenant.pk, world.agent.pk)
    with acting_as(world.system):
        assert Reflection.objects.get().day >= timezone.now().date() - timedelta(days=1)
    assert due_work("reflections") == [], "the look and the rule name the same day"


def test_no_agent_sees_a_reflection_and_nobody_rewrites_one(world: World, standin: StandIn) -> None:
    make_day(world)
    run_reflection(world, standin.backend)
    assert run_and_undo(world.bot, "SELECT 1 FROM learning_reflection").sqlstate == NO_RIGHT
    for actor in (world.operator, world.system):
        run_and_undo(actor, "UPDATE learning_reflection SET reason = 'Mine.'")
        assert not run_and_undo(actor, "DELETE FROM learning_reflection").passed
    with acting_as(world.operator):
        assert Reflection.objects.get().reason != "Mine."
