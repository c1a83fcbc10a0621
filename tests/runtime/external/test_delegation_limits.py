"""Whom an agent may ask, how deep, and for how much (R057)."""

import pytest

from apps.conversations.delegation import AGENT_PAUSED
from apps.conversations.models import Conversation
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict
from apps.kill_switches.actions import activate_kill_switch, deactivate_kill_switch
from apps.kill_switches.models import KillSwitch
from apps.runtime.limits.turn_budgets import TurnMoney
from apps.runtime.models import Turn
from apps.runtime.tasks import tell_who_asked
from apps.runtime.tools.delegation_tools import ask_agent
from apps.tenants.actions import allow_invokable, amend_agent, amend_invokable, withdraw_invokable
from apps.tenants.authentication.actor_resolution import agent_actor
from apps.tenants.due_work import due_work
from apps.tenants.models import Agent, InvokableAgent
from tests.support.database.raw_sql_as_role import BROKEN_RULE, NO_RIGHT, run_and_undo
from tests.support.drivers.conversation import calls, reply, run_turn, send_customer_message, tool
from tests.support.factories.delegations import (
    TASK,
    ask_billing,
    child_conversation,
    last_request,
    last_user_turn,
    make_question,
    received_answers,
    run_next_turn,
)
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_conversation, make_invokable, make_neighbour, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    world = make_world()
    make_invokable(world)
    return world


@pytest.fixture
def billing(world: World) -> Agent:
    with acting_as(world.system):
        return Agent.objects.get(key="billing")


def delegation_refusal(world: World, standin: StandIn, **asked: str) -> str:
    standin.play(tool("delegate", **{"agent_key": "billing", "task": TASK} | asked), reply("Sorry."))
    turn = run_turn(world, send_customer_message(world, f"Hello {len(standin.requests())}"), standin.backend)
    [made] = calls(world, turn)
    assert made["is_error"]
    with acting_as(world.system):
        assert not Conversation.objects.filter(parent__isnull=False).exists()
    return str(made["result"])


@pytest.mark.slow
def test_a_question_that_cannot_be_put_is_refused_in_words(world: World, standin: StandIn) -> None:
    # R057
    assert "You may ask no agent “sales”" in delegation_refusal(world, standin, agent_key="sales")
    assert "is empty" in delegation_refusal(world, standin, task=" ")
    with acting_as(world.system):
        invokable = InvokableAgent.objects.get()
    paused = activate_kill_switch(
        KillSwitch.Kind.PAUSE_AGENT, actor=world.operator, reason="Wrong.", agent_id=invokable.callee_id
    )
    assert "Agent billing is paused" in delegation_refusal(world, standin)
    deactivate_kill_switch(paused, actor=world.operator)
    withdraw_invokable(invokable, actor=world.operator)
    assert "You may ask no agent “billing”" in delegation_refusal(world, standin)


def notify_paused_askers() -> None:
    """What the sweep has done, without its broker."""
    for tenant_id, child_id in due_work("paused_delegations"):
        tell_who_asked.run(tenant_id, child_id)


def test_the_asking_agent_is_notified_once_for_each_pause(world: World, standin: StandIn, billing: Agent) -> None:
    # R057
    parent = ask_billing(world, standin)
    notify_paused_askers()
    assert received_answers(world, parent) == []
    for times in (1, 2):
        paused = activate_kill_switch(
            KillSwitch.Kind.PAUSE_AGENT, actor=world.operator, reason="Wrong.", agent_id=billing.pk
        )
        notify_paused_askers()
        assert due_work("paused_delegations") == []
        tell_who_asked.run(world.tenant.pk, child_conversation(world, parent).pk)
        assert received_answers(world, parent) == [("progress", AGENT_PAUSED)] * times
        run_next_turn(world, parent, standin, reply("It takes a while."))
        assert AGENT_PAUSED in last_user_turn(standin)
        deactivate_kill_switch(paused, actor=world.operator)
    run_next_turn(world, child_conversation(world, parent), standin, reply("Forty euros."))
    activate_kill_switch(KillSwitch.Kind.PAUSE_AGENT, actor=world.operator, reason="Wrong.", agent_id=billing.pk)
    notify_paused_askers()
    assert [kind for kind, _ in received_answers(world, parent)] == ["progress", "progress", "answer"], (
        "it waits for nothing any more"
    )


def test_nobody_is_told_of_a_pause_that_holds_for_them_too(world: World, standin: StandIn) -> None:
    parent = ask_billing(world, standin)
    activate_kill_switch(KillSwitch.Kind.PAUSE_AGENT, actor=world.operator, reason="Wrong.")
    notify_paused_askers()
    assert received_answers(world, parent) == []


def test_agents_ask_in_no_circle_and_three_deep_at_most(world: World, standin: StandIn, billing: Agent) -> None:
    legal = make_neighbour(world, "legal")
    audit = make_neighbour(world, "audit")
    for agent, callee in ((billing, world.agent), (billing, legal), (legal, audit)):
        allow_invokable(agent.pk, callee.pk, actor=world.operator)
    parent = ask_billing(world, standin)
    child = child_conversation(world, parent)
    asking = (tool("delegate", agent_key=world.agent.key, task=TASK), tool("delegate", agent_key="legal", task=TASK))
    run_next_turn(world, child, standin, *asking, reply(""))
    with acting_as(world.system):
        results = [step.result for step in Turn.objects.get(conversation=child).tool_steps.order_by("step")]
    assert "waits for this answer already" in results[0]
    assert results[1].startswith("Asked.")
    third = child_conversation(world, child)
    assert third.hops == 2
    run_next_turn(world, third, standin, tool("delegate", agent_key="audit", task=TASK), reply("No."))
    assert "delegate" not in {each["name"] for each in last_request(standin)["tools"]}
    with acting_as(world.system):
        assert not Conversation.objects.filter(parent=third).exists()
    assert received_answers(world, child) == [("answer", "No.")]


@pytest.mark.slow
def test_what_an_answer_may_cost_is_set_aside_from_the_turn_that_asks(
    world: World, standin: StandIn, billing: Agent
) -> None:
    # R057
    with acting_as(world.system):
        invokable = InvokableAgent.objects.get()
    amend_agent(world.agent, actor=world.admin, turn_budget_micro_usd=1_000_000)
    parent = ask_billing(world, standin)
    assert child_conversation(world, parent).budget_micro_usd == 500_000
    amend_invokable(invokable, actor=world.operator, budget_micro_usd=20_000)
    with acting_as(world.system):
        assert InvokableAgent.objects.get().role_hint == "Knows every invoice."
    standin.play(tool("delegate", agent_key="billing", task=TASK), reply("One moment."))
    turn = run_turn(world, send_customer_message(world, "And now?", thread="other"), standin.backend)
    with acting_as(world.system):
        assert Conversation.objects.get(delegating_turn_id=turn.pk).budget_micro_usd == 20_000


def test_nobody_is_asked_with_money_that_is_spent(world: World, standin: StandIn) -> None:
    # R057
    with pytest.raises(Conflict, match="Nothing is left"):
        ask_agent(
            make_conversation(world),
            actor=world.bot,
            agent_key="billing",
            task=TASK,
            turn_id=1,
            money=TurnMoney(0, 1, None),
        )


COLUMNS = [str(field.column) for field in Conversation._meta.concrete_fields if field.column != "id"]


@pytest.mark.parametrize(
    "broken",
    [
        {"end_user_key": "'http:somebody-else'"},
        {"off_the_record": "true"},
        {"hops": "2"},
        {"hops": "0"},
        {"delegating_turn_id": "NULL"},
        {"agent_id": "(SELECT agent_id FROM conversations_conversation AS above WHERE above.id = thread.parent_id)"},
        {"agent_id": "(SELECT id FROM tenants_agent WHERE key = 'stranger')"},
    ],
)
def test_postgresql_refuses_a_question_that_is_not_of_the_family(world: World, broken: dict[str, str]) -> None:
    # R006, R057, R178
    make_neighbour(world, "stranger")
    child = make_question(world, make_conversation(world))
    for values, code in (({}, ""), (broken, BROKEN_RULE)):
        changed = {"conversation_key": "'another'"} | values
        given = ", ".join(changed.get(name, name) for name in COLUMNS)
        statement = f"INSERT INTO conversations_conversation ({', '.join(COLUMNS)}) SELECT {given}"  # of constants
        outcome = run_and_undo(
            world.system, f"{statement} FROM conversations_conversation AS thread WHERE id = %s", [child.pk]
        )
        assert outcome.sqlstate == code


@pytest.mark.parametrize("change", ["parent_id = NULL", "hops = 2", "delegating_turn_id = 9", "budget_micro_usd = 9"])
def test_who_asked_and_for_how_much_stays(world: World, change: str) -> None:
    child = make_question(world, make_conversation(world))
    statement = f"UPDATE conversations_conversation SET {change} WHERE id = %s"  # noqa: S608  # of constants
    for actor in (world.system, world.operator, world.bot):
        assert run_and_undo(actor, statement, [child.pk]).sqlstate == NO_RIGHT


def test_an_agent_opens_no_such_conversation_by_itself(world: World, billing: Agent) -> None:
    parent = make_conversation(world)
    child = make_question(world, parent)
    bot = agent_actor(world.tenant.pk, billing.pk, billing.service_user_id, "billing")
    given = ", ".join({"conversation_key": "'another'"}.get(name, name) for name in COLUMNS)
    statement = f"INSERT INTO conversations_conversation ({', '.join(COLUMNS)}) SELECT {given}"  # of constants
    outcome = run_and_undo(bot, f"{statement} FROM conversations_conversation WHERE id = %s", [child.pk])
    assert outcome.sqlstate == BROKEN_RULE
