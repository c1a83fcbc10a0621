"""Whether a reply leaves by itself hangs on rules of channels and skills, as they stand when it leaves (R134)."""

import pytest

from apps.desk.actions import write_send_rule
from apps.desk.models import Draft, SendRule
from apps.governance.database.actor_transaction import acting_as
from apps.llm.model_backend import ModelReply, ModelRequest
from apps.runtime.models import Turn
from apps.runtime.turns.operator_replies import send_reviewed_draft
from apps.tenants.actions import amend_agent
from tests.support.drivers.conversation import reply, run_customer_turn, run_turn, send_customer_message, tool
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_skill, make_world

pytestmark = pytest.mark.django_db

Outcome = Turn.Outcome


@pytest.fixture
def world() -> World:
    return make_world()


def set_mode(world: World, mode: str) -> None:
    amend_agent(world.agent, actor=world.admin, send_mode=mode)


def drafts(world: World) -> list[Draft]:
    with acting_as(world.operator):
        return list(Draft.objects.visible_to(world.operator).open())


def test_a_skill_that_was_read_makes_the_reply_wait_and_grounds_it(world: World, standin: StandIn) -> None:
    # R134, R136
    skill = make_skill(world, "approved")
    rule = SendRule(tenant_id=world.tenant.pk, agent=world.agent)
    values = {"channel": "", "send_mode": "suggest", "skill": skill}
    write_send_rule(rule, actor=world.admin, values=values, reason="Money is at stake.")
    assert run_customer_turn(world, "Hello", standin).outcome == Outcome.REPLIED
    standin.play(tool("get_skill", skill_id=skill.pk), reply("You get it back."))
    assert run_turn(world, send_customer_message(world, "Refund me"), standin.backend).outcome == Outcome.DRAFTED
    [draft] = drafts(world)
    assert (draft.grounding, [fact["record_id"] for fact in draft.facts]) == ("skill", [skill.pk])


def test_a_skill_that_was_read_for_an_earlier_reply_makes_the_next_one_wait_too(world: World, standin: StandIn) -> None:
    # R134: a model reads a runbook once and follows it over several replies.
    skill = make_skill(world, "approved")
    rule = SendRule(tenant_id=world.tenant.pk, agent=world.agent)
    values = {"channel": "", "send_mode": "suggest", "skill": skill}
    write_send_rule(rule, actor=world.admin, values=values, reason="Money is at stake.")
    standin.play(tool("get_skill", skill_id=skill.pk), reply("Which order?"), reply("You get it back."))
    assert run_turn(world, send_customer_message(world, "Refund me"), standin.backend).outcome == Outcome.DRAFTED
    [draft] = drafts(world)
    send_reviewed_draft(draft, actor=world.operator, reviewed_sha256=draft.text_sha256)
    assert run_turn(world, send_customer_message(world, "Order 7"), standin.backend).outcome == Outcome.DRAFTED
    asked = str(standin.requests()[-1]["messages"][-1])
    assert "what you write is a draft" in asked, "the agent is told so from the beginning of its turn"
    [draft] = drafts(world)
    assert (draft.text, draft.grounding, draft.facts) == ("You get it back.", "none", [])
    assert (
        run_turn(world, send_customer_message(world, "Hello", thread="another"), standin.backend).outcome
        == Outcome.REPLIED
    )


def test_a_rule_that_is_written_while_the_model_thinks_holds_its_reply(world: World, standin: StandIn) -> None:
    # R134
    rule = SendRule(tenant_id=world.tenant.pk, agent=world.agent)

    class Thinking:
        """Meanwhile an administrator becomes careful."""

        def complete(self, request: ModelRequest) -> ModelReply:
            values = {"channel": "http", "send_mode": "suggest", "skill": None}
            write_send_rule(rule, actor=world.admin, values=values, reason="Not before I have read it.")
            return standin.backend.complete(request)

    assert run_turn(world, send_customer_message(world, "Hello"), Thinking()).outcome == Outcome.DRAFTED
    assert len(drafts(world)) == 1


def test_a_reply_leaves_by_the_mode_that_stands_at_last(world: World, standin: StandIn) -> None:
    # R134
    class Thinking:
        """Meanwhile an administrator changes what makes no difference to this reply."""

        def complete(self, request: ModelRequest) -> ModelReply:
            rule = SendRule(tenant_id=world.tenant.pk, agent=world.agent)
            write_send_rule(rule, actor=world.admin, values={"channel": "sms", "send_mode": "suggest", "skill": None})
            return standin.backend.complete(request)

    assert run_turn(world, send_customer_message(world, "Hello"), Thinking()).outcome == Outcome.REPLIED
