"""Which model learns for an agent: what a tenant's own endpoint calls a model, the installation's does not know."""

from ipaddress import ip_network

import pytest
from django.conf import settings as product
from pytest_django import Settings

from apps.conversations.actions import resolve_conversation
from apps.conversations.models import Conversation
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict
from apps.learning.distillation.models import TierRun
from apps.learning.extraction.pipeline import extract_conversation, learning_model
from apps.llm.anthropic.sync_client import AnthropicBackend
from apps.tenants.actions import amend_agent
from apps.tenants.endpoints.actions import remove_endpoint
from apps.tenants.models import Agent
from tests.support.drivers.conversation import reply
from tests.support.factories.endpoints import make_endpoint
from tests.support.factories.memory_tiers import distil, make_tier
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_conversation, make_world

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
    extract_conversation(conversation.pk, actor=world.system, backend=standin.backend)
    [asked] = standin.requests()
    assert asked["model"] == (product.DEFAULT_MODEL if has_endpoint else "house-small")


def test_a_model_that_is_named_for_learning_is_asked_for_wherever_turns_think() -> None:
    world = make_world()
    amend_agent(world.agent, actor=world.admin, model="house-small", endpoint=make_endpoint(world))
    assert learning_model(reload_agent(world), "claude-large") == "claude-large"
    assert learning_model(reload_agent(world)) == product.DEFAULT_MODEL


def test_a_tier_is_distilled_at_the_endpoint_that_its_agents_page_names(standin: StandIn, settings: Settings) -> None:
    # R131, R174
    settings.REACHABLE_NETWORKS = (ip_network("127.0.0.0/8"),)
    world = make_world()
    own, nobody = make_endpoint(world, standin.url), AnthropicBackend("nobody", base_url="http://127.0.0.1:9")
    amend_agent(world.agent, actor=world.admin, distil_endpoint_long=own, distil_model_long="house-large")
    make_tier(world, "Mondays are busy.")
    standin.play(reply('{"facts": [{"text": "Mondays are busy.", "source_ids": ["l1"]}]}'))
    [run] = distil(world, nobody, "long")
    assert (run.verdict, run.model) == (TierRun.Verdict.PENDING, "house-large")
    [asked] = standin.requests()
    assert asked["model"] == "house-large"
    with pytest.raises(Conflict, match="Agents still use this endpoint, among them support"):
        remove_endpoint(own, actor=world.admin)
    # What the page says of one tier holds for no other.
    standin.forget()
    make_tier(world, "We open at nine.", tier="short")
    assert distil(world, nobody, "mid") == []
    assert standin.requests() == []


def test_a_tier_waits_where_its_endpoint_may_not_be_reached(standin: StandIn, settings: Settings) -> None:
    settings.REACHABLE_NETWORKS = (ip_network("127.0.0.0/8"),)
    world = make_world()
    amend_agent(world.agent, actor=world.admin, distil_endpoint_long=make_endpoint(world, standin.url))
    make_tier(world, "Mondays are busy.")
    settings.REACHABLE_NETWORKS = ()
    run = distil(world, standin.backend, "long")
    assert standin.requests() == [], "nothing falls back to the installation's endpoint"
    assert all(each.verdict == TierRun.Verdict.FAILED for each in run)


def test_the_agents_model_is_asked_for_where_tier_and_agent_think_at_one_endpoint() -> None:
    world = make_world()
    endpoint = make_endpoint(world)
    amend_agent(world.agent, actor=world.admin, model="house-small", endpoint=endpoint)
    assert learning_model(reload_agent(world), "", endpoint.pk) == "house-small"
    assert learning_model(reload_agent(world), "house-large", endpoint.pk) == "house-large"


def reload_agent(world: World) -> Agent:
    with acting_as(world.system):
        return Agent.objects.visible_to(world.system).get(pk=world.agent.pk)
