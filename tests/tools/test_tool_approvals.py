"""Calls that wait for a person: asked for in one turn, made once in another, or never."""

from dataclasses import replace

import pytest

from apps.conversations.actions import resolve_conversation
from apps.conversations.models import InboundEvent
from apps.desk.models import Draft
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, Invalid
from apps.prompt.rendering.data_fences import unfence
from apps.runtime.models import Turn
from apps.runtime.tools.tool_approvals import forbid_call, permit_call
from apps.runtime.turns.tool_calls import APPROVAL_WITHDRAWN
from apps.runtime.turns.turn_events import ModelReplied
from apps.runtime.turns.turn_machine import start_turn
from apps.runtime.turns.turn_progress import AskModel
from apps.runtime.worker.sync_driver import answer_conversation
from apps.tenants.actions import amend_agent
from apps.tools.actions import allow_tool, amend_agent_tool, request_approval, withdraw_tool
from apps.tools.models import ToolApproval, ToolServer
from tests.support.drivers.conversation import expire_lease, reply, send_customer_message, tool
from tests.support.drivers.external_tool_turns import allow_agent_tool, run_scripted_turn, steps
from tests.support.factories.delegations import make_question
from tests.support.factories.external_tools import FIND_ORDER_TOOL, make_agent_tool, store_listing, tool_named
from tests.support.servers.standin_model import StandIn
from tests.support.servers.tool_server import ToolServerProcess
from tests.support.worlds.world import World, make_world

pytestmark = pytest.mark.django_db


def list_approvals(reaching: World) -> list[ToolApproval]:
    with acting_as(reaching.operator):
        return list(
            ToolApproval.objects.visible_to(reaching.operator).select_related("conversation__agent").order_by("pk")
        )


def run_next_turn(reaching: World, standin: StandIn, conversation_id: int, *script: dict[str, object]) -> Turn:
    """The turn that a decision wakes."""
    standin.play(*script)
    answer_conversation(reaching.tenant.pk, conversation_id, backend=standin.backend)
    with acting_as(reaching.system):
        return Turn.objects.filter(conversation=conversation_id).latest("pk")


def calls_of(served: ToolServerProcess, name: str) -> list[dict[str, object]]:
    return [seen for seen in served.seen() if seen["name"] == name]


def test_a_call_that_writes_waits_for_a_person_and_is_made_once_after_a_yes(
    reaching: World, asked_server: ToolServer, served: ToolServerProcess, standin: StandIn
) -> None:
    name, before = str(allow_agent_tool(reaching, asked_server, "refund", waits=True)), len(calls_of(served, "refund"))
    turn = run_scripted_turn(
        reaching, standin, tool(name, number="7"), tool(name, number="7"), reply("It is being looked at.")
    )
    assert [step.repeat_safety for step in steps(reaching, turn)] == ["transactional", "transactional"]
    (asked,) = list_approvals(reaching)
    assert (asked.status, asked.tool_name, asked.arguments, asked.turn_id) == (
        "waiting",
        name,
        {"number": "7"},
        turn.pk,
    )
    assert calls_of(served, "refund")[before:] == []
    permit_call(asked, actor=reaching.operator, read_at=asked.version)
    # Other arguments are another call, and wait; the same ones are made, and the second time wait again.
    script = (tool(name, number="8"), tool(name, number="7"), tool(name, number="7"), reply("Paid back."))
    turn = run_next_turn(reaching, standin, asked.conversation_id, *script)
    other, made, again = steps(reaching, turn)
    assert (other.repeat_safety, made.repeat_safety, again.repeat_safety) == (
        "transactional",
        "unsafe",
        "transactional",
    )
    assert unfence(made.result) == {"result": {"result": "Paid back."}}
    assert [seen["arguments"] for seen in calls_of(served, "refund")[before:]] == [{"number": "7"}]
    assert [(row.status, row.arguments["number"]) for row in list_approvals(reaching)] == [
        ("consumed", "7"),
        ("waiting", "8"),
        ("waiting", "7"),
    ]
    messages_text = str(standin.requests()[-1]["messages"])
    assert f"(request {asked.pk})" in messages_text
    assert "colleague approved" in messages_text


def test_a_call_that_was_refused_is_not_made_and_the_agent_is_told_why(
    reaching: World, asked_server: ToolServer, served: ToolServerProcess, standin: StandIn
) -> None:
    name, before = str(allow_agent_tool(reaching, asked_server, "refund", waits=True)), len(calls_of(served, "refund"))
    run_scripted_turn(reaching, standin, tool(name, number="7"), reply("It is being looked at."))
    (asked,) = list_approvals(reaching)
    with pytest.raises(Invalid, match="Give a reason"):
        forbid_call(asked, actor=reaching.operator, reason=" ")
    forbid_call(asked, actor=reaching.operator, reason="It was paid back in May.")
    turn = run_next_turn(
        reaching, standin, asked.conversation_id, tool(name, number="7"), reply("It was paid back in May.")
    )
    assert [step.repeat_safety for step in steps(reaching, turn)] == ["transactional"]
    assert "It was paid back in May." in str(standin.requests()[-1]["messages"])
    assert calls_of(served, "refund")[before:] == []


@pytest.mark.slow
def test_a_yes_counts_for_the_tool_as_it_was_allowed_and_until_it_is_taken_back(
    reaching: World, standin: StandIn
) -> None:
    row = make_agent_tool(reaching)
    run_scripted_turn(reaching, standin, tool(str(row), number="7"), reply("It is being looked at."))
    (asked,) = list_approvals(reaching)
    permit_call(asked, actor=reaching.operator)
    store_listing(reaching, row.tool.server, replace(FIND_ORDER_TOOL, description="Look an order up, or pay it back."))
    tool_now = tool_named(reaching, row.tool.server, "find_order")
    amend_agent_tool(row, actor=reaching.operator, sha256=tool_now.sha256)
    turn = run_next_turn(reaching, standin, asked.conversation_id, tool(str(row), number="7"), reply("It waits."))
    assert [step.repeat_safety for step in steps(reaching, turn)] == ["transactional"]
    forbid_call(list_approvals(reaching)[0], actor=reaching.operator, reason="No more.")
    assert [each.status for each in list_approvals(reaching)] == ["refused", "waiting"]
    with acting_as(reaching.operator):
        conversation = asked.conversation
        conversation.refresh_from_db()
    resolve_conversation(conversation, actor=reaching.operator)
    with pytest.raises(Conflict, match="has ended"):
        permit_call(list_approvals(reaching)[1], actor=reaching.operator)
    forbid_call(list_approvals(reaching)[1], actor=reaching.operator, reason="Over.")


@pytest.mark.parametrize("is_let", [True, False])
def test_a_call_that_an_asked_agent_wants_to_make_is_decided_on_too(is_let: bool) -> None:
    world = make_world()
    child = make_question(world)
    assert child.end_user_key == "http:abc123", "the customer's, whose channel is not the one between agents"
    allowed, system = ("shop__refund", "0" * 64), world.system
    asked = request_approval(child.pk, allowed, {"number": "7"}, actor=system, agent_id=child.agent_id, turn_id=1)
    if is_let:
        permit_call(asked, actor=world.operator)
    else:
        forbid_call(asked, actor=world.operator, reason="It was paid back in May.")
    with acting_as(world.system):
        event = InboundEvent.objects.get(conversation=child, kind=InboundEvent.Kind.OPERATOR)
    assert f"(request {asked.pk})" in event.text


def test_a_yes_does_not_outlive_the_permission_it_was_given_under(reaching: World, standin: StandIn) -> None:
    row = make_agent_tool(reaching)
    run_scripted_turn(reaching, standin, tool(str(row), number="7"), reply("It is being looked at."))
    (asked,) = list_approvals(reaching)
    permit_call(asked, actor=reaching.operator)
    withdraw_tool(row, actor=reaching.operator)
    allow_tool(reaching.agent.pk, row.tool_id, row.sha256, actor=reaching.operator)
    turn = run_next_turn(reaching, standin, asked.conversation_id, tool(str(row), number="7"), reply("It waits."))
    assert [step.repeat_safety for step in steps(reaching, turn)] == ["transactional"]


def test_a_yes_that_is_taken_back_under_a_running_turn_is_an_answer_and_no_end(
    reaching: World, standin: StandIn
) -> None:
    row = make_agent_tool(reaching)
    run_scripted_turn(reaching, standin, tool(str(row), number="7"), reply("It is being looked at."))
    (asked,) = list_approvals(reaching)
    permit_call(asked, actor=reaching.operator)
    standin.play(tool(str(row), number="7"), reply("It was not done."))
    machine = start_turn(reaching.tenant.pk, asked.conversation_id)
    assert machine is not None
    asking = machine.effect
    assert isinstance(asking, AskModel)
    forbid_call(list_approvals(reaching)[0], actor=reaching.operator, reason="No.")
    machine.advance(ModelReplied(standin.backend.complete(asking.request)))
    assert isinstance(machine.effect, AskModel)
    machine.advance(ModelReplied(standin.backend.complete(machine.effect.request)))
    (step,) = steps(reaching, machine.turn)
    assert (step.result, step.is_error, step.state) == (APPROVAL_WITHDRAWN, True, "done")
    assert [each.status for each in list_approvals(reaching)] == ["refused"]


@pytest.mark.parametrize("short", ["refund", "note_down"])
def test_a_worker_that_dies_after_a_yes_was_used_up_makes_no_second_call_by_it(
    reaching: World, asked_server: ToolServer, served: ToolServerProcess, standin: StandIn, short: str
) -> None:
    name, before = str(allow_agent_tool(reaching, asked_server, short, waits=True)), len(calls_of(served, short))
    arguments = {"number": "7"} if short == "refund" else {"text": "7"}
    event = send_customer_message(reaching, "Hello")
    standin.play(tool(name, **arguments), reply("It is being looked at."))
    answer_conversation(reaching.tenant.pk, event.conversation_id, backend=standin.backend)
    (asked,) = list_approvals(reaching)
    permit_call(asked, actor=reaching.operator)
    standin.play(tool(name, **arguments), reply("Done."))
    # It dies as the call is to be made: the yes is used up, and the step begun, in one commit.
    machine = start_turn(reaching.tenant.pk, asked.conversation_id)
    assert machine is not None
    asking = machine.effect
    assert isinstance(asking, AskModel)
    machine.advance(ModelReplied(standin.backend.complete(asking.request)))
    assert list_approvals(reaching)[0].status == "consumed"
    expire_lease(reaching, machine.turn)
    turn = run_next_turn(reaching, standin, asked.conversation_id, reply("Done."))
    (step,) = steps(reaching, turn)
    assert step.state == "unknown"
    assert calls_of(served, short)[before:] == []
    assert [row.status for row in list_approvals(reaching)] == ["consumed"]


@pytest.mark.slow
def test_a_call_that_only_waits_grounds_no_draft(reaching: World, asked_server: ToolServer, standin: StandIn) -> None:
    # R136
    name = str(allow_agent_tool(reaching, asked_server, "refund", waits=True))
    amend_agent(reaching.agent, actor=reaching.admin, send_mode="suggest")
    run_scripted_turn(reaching, standin, tool(name, number="7"), reply("You get your money back."))
    (asked,) = list_approvals(reaching)
    assert draft_grounding(reaching) == ("none", [])
    permit_call(asked, actor=reaching.operator)
    run_next_turn(reaching, standin, asked.conversation_id, tool(name, number="7"), reply("You got your money back."))
    grounding, facts = draft_grounding(reaching)
    assert (grounding, [fact["name"] for fact in facts]) == ("tool", [name])


def draft_grounding(reaching: World) -> tuple[str, list[dict[str, object]]]:
    with acting_as(reaching.operator):
        draft = Draft.objects.visible_to(reaching.operator).open().get()
    return draft.grounding, draft.facts
