"""In the console: open sessions are ended on the agent's page and with a kill switch, and both say before what it costs."""

import pytest
from django.test import Client
from django.urls import reverse

from apps.governance.database.actor_transaction import acting_as
from apps.kill_switches.models import KillSwitch
from apps.tenants.models import Agent
from tests.support.drivers.console_client import decide, page_of, page_words
from tests.support.drivers.conversation import run_customer_turn
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World

pytestmark = pytest.mark.django_db
ADD_SWITCH = reverse("admin:kill_switches_killswitch_add")


def test_the_agents_page_says_the_cost_and_ends_them(world: World, operator: Client, standin: StandIn) -> None:
    assert "No session is open, so it costs nothing." in page_words(operator.get(page_of(world.agent)))
    first = run_customer_turn(world, "Hello", standin)
    assert "1 open session ends. Their new prompts write at most" in page_words(operator.get(page_of(world.agent)))
    assert decide(operator, world.agent, "end_sessions", reason="The persona was wrong.").status_code == 303
    assert "No session is open, so it costs nothing." in page_words(operator.get(page_of(world.agent)))
    assert run_customer_turn(world, "And now", standin).session_id != first.session_id


def test_a_new_kill_switch_says_the_cost_for_every_agent_and_ends_them(
    world: World, operator: Client, standin: StandIn
) -> None:
    run_customer_turn(world, "Hello", standin)
    assert "For every agent: 1 open session ends." in page_words(operator.get(ADD_SWITCH))
    typed = {"agent": "", "kind": "freeze-learning", "channel": "", "reason": "Odd lines.", "ends_sessions": "on"}
    assert operator.post(ADD_SWITCH, typed).status_code in {302, 303}
    with acting_as(world.operator):
        assert KillSwitch.objects.visible_to(world.operator).get().ends_sessions
        assert Agent.objects.visible_to(world.operator).get(pk=world.agent.pk).sessions_ended_at is not None
