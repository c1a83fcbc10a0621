"""*End open sessions*: the next turn of each conversation freezes a new prompt, by an act of its own or with a kill switch."""

import pytest
from django.core.management import call_command
from django.utils import timezone

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import NotPermitted
from apps.governance.models import ChangeRecord
from apps.kill_switches.actions import activate_kill_switch
from apps.kill_switches.models import KillSwitch
from apps.memory.actions import approve_memory
from apps.runtime.explain.session_ending import SessionEndingCost, cost_of_ending
from apps.runtime.worker.sync_driver import answer_conversation
from apps.tenants.actions import amend_agent, end_sessions
from apps.tenants.models import Agent
from tests.support.drivers.conversation import (
    expire_lease,
    prompt,
    reply,
    run_customer_turn,
    run_turn,
    send_customer_message,
    tool,
    turn_of,
)
from tests.support.drivers.dying_worker import DyingModel, PowerCutError
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_memory, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


def stored_agent(world: World) -> Agent:
    with acting_as(world.operator):
        return Agent.objects.visible_to(world.operator).get(pk=world.agent.pk)


def change_memory(world: World) -> None:
    memory = make_memory(world, "Parcels leave on Tuesdays.")
    approve_memory(memory, actor=world.operator, read_at=memory.version)


def test_the_next_turn_freezes_a_new_prompt_and_stays_in_it(world: World, standin: StandIn) -> None:
    first = run_customer_turn(world, "Hello", standin)
    change_memory(world)
    assert run_customer_turn(world, "And again", standin).session_id == first.session_id
    end_sessions(stored_agent(world), actor=world.operator, reason="The prompt was wrong.")
    second, third = run_customer_turn(world, "And now", standin), run_customer_turn(world, "Well?", standin)
    assert first.session_id != second.session_id == third.session_id
    before, after = (prompt(standin.requests()[number]) for number in (1, 2))
    assert ("Tuesdays" in before, "Tuesdays" in after) == (False, True)
    with acting_as(world.operator):
        assert ChangeRecord.objects.get(act="agent.end_sessions").actor_label == world.operator.label


def test_a_turn_with_steps_keeps_its_prompt(world: World, standin: StandIn) -> None:
    standin.play(tool("list_skills"), reply("None yet."))
    event = send_customer_message(world, "What can you do?")
    with pytest.raises(PowerCutError):
        answer_conversation(world.tenant.pk, event.conversation_id, backend=DyingModel(standin, at_call=2))
    change_memory(world)
    end_sessions(stored_agent(world), actor=world.operator)
    expire_lease(world, turn_of(world, event))
    run_turn(world, event, standin.backend)
    first, second = standin.requests()
    assert prompt(first) == prompt(second)


def test_only_people_end_sessions(world: World) -> None:
    for actor in (world.bot, world.system):
        with pytest.raises(NotPermitted):
            end_sessions(stored_agent(world), actor=actor)


@pytest.mark.parametrize("of_agent", [True, False])
def test_a_kill_switch_ends_them_too_if_asked(world: World, standin: StandIn, of_agent: bool) -> None:
    first = run_customer_turn(world, "Hello", standin)
    change_memory(world)
    agent_id = world.agent.pk if of_agent else None
    freeze = KillSwitch.Kind.FREEZE_LEARNING
    switch = activate_kill_switch(
        freeze, actor=world.operator, reason="Odd lines.", agent_id=agent_id, ends_sessions=True
    )
    assert switch.ends_sessions
    assert run_customer_turn(world, "And now", standin).session_id != first.session_id
    assert "Tuesdays" in prompt(standin.requests()[-1])


def test_a_kill_switch_alone_ends_none(world: World, standin: StandIn) -> None:
    first = run_customer_turn(world, "Hello", standin)
    activate_kill_switch(KillSwitch.Kind.FREEZE_LEARNING, actor=world.operator, reason="Odd lines.")
    assert run_customer_turn(world, "And now", standin).session_id == first.session_id


def test_the_command_ends_them_as_a_member(world: World, standin: StandIn) -> None:
    first = run_customer_turn(world, "Hello", standin)
    named = ("--tenant", world.tenant.key, "--reason", "Odd.", "--as", world.operator_user.username)
    call_command("kill_switch", "freeze-learning", *named, "--end-sessions")
    assert run_customer_turn(world, "And now", standin).session_id != first.session_id


def test_the_cost_is_of_open_sessions_and_counts_what_they_share_once(world: World, standin: StandIn) -> None:
    now = timezone.now()
    none = cost_of_ending([stored_agent(world)], actor=world.operator, now=now)
    assert none == SessionEndingCost(0, 0, 0)
    run_customer_turn(world, "Hello", standin, thread="one", customer="http:ann")
    one = cost_of_ending([stored_agent(world)], actor=world.operator, now=now)
    run_customer_turn(world, "Hello", standin, thread="two", customer="http:ben")
    two = cost_of_ending([stored_agent(world)], actor=world.operator, now=now)
    assert (one.sessions, two.sessions) == (1, 2)
    assert one.tokens > 0
    assert one.tokens == two.tokens, "two customers without profiles have the same prompt"
    assert one.micro_usd
    end_sessions(stored_agent(world), actor=world.operator)
    assert cost_of_ending([stored_agent(world)], actor=world.operator, now=now).sessions == 0


def test_the_cost_is_unknown_where_the_model_has_no_price(world: World, standin: StandIn) -> None:
    amend_agent(world.agent, actor=world.admin, model="of-our-own", title="Support")
    run_customer_turn(world, "Hello", standin)
    assert cost_of_ending([stored_agent(world)], actor=world.operator, now=timezone.now()).micro_usd is None


def test_a_session_that_silence_ended_costs_nothing(world: World, standin: StandIn) -> None:
    run_customer_turn(world, "Hello", standin)
    amend_agent(world.agent, actor=world.admin, session_idle_seconds=0)
    assert cost_of_ending([stored_agent(world)], actor=world.operator, now=timezone.now()).sessions == 0
