"""Which model learns for an agent: what a tenant's own endpoint calls a model, the installation's does not know."""

import pytest
from django.conf import settings

from apps.conversations.actions import resolve_conversation
from apps.conversations.models import Conversation
from apps.governance.acting import acting
from apps.learning.extraction import extract, learning_model
from apps.tenants.actions import amend_agent
from apps.tenants.models import Agent
from tests.factories import World, make_conversation, make_world
from tests.standing_in import StandIn
from tests.thinking import make_endpoint

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("has_endpoint", [False, True])
def test_learning_asks_for_the_agents_model_where_the_agent_thinks_at_the_same_place(
    standin: StandIn, has_endpoint: bool
) -> None:
    world = make_world()
    endpoint = {"endpoint": make_endpoint(world)} if has_endpoint else {}
    amend_agent(world.agent, actor=world.admin, model="house-small", **endpoint)
    solved = Conversation.Outcome.SOLVED
    conversation = resolve_conversation(make_conversation(world), actor=world.bot, outcome=solved)
    extract(conversation.pk, actor=world.system, backend=standin.backend)
    [asked] = standin.requests()
    assert asked["model"] == (settings.DEFAULT_MODEL if has_endpoint else "house-small")


def test_a_model_that_is_named_for_learning_is_asked_for_wherever_turns_think() -> None:
    world = make_world()
    amend_agent(world.agent, actor=world.admin, model="house-small", endpoint=make_endpoint(world))
    assert learning_model(fresh(world), "claude-large") == "claude-large"
    assert learning_model(fresh(world)) == settings.DEFAULT_MODEL


def fresh(world: World) -> Agent:
    with acting(world.system):
        return Agent.objects.visible_to(world.system).get(pk=world.agent.pk)
