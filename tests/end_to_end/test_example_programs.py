"""The programs of examples/ as somebody runs them: against the running product, and a model that is not ours to call."""

import os
from dataclasses import replace
from typing import Any

import pytest

from apps.conversations.models import Message
from apps.governance.database.actor_transaction import acting_as
from apps.memory.models import CustomerProfile
from apps.runtime.models import ModelCall, ToolStep, Turn
from apps.tenants.actions import amend_agent
from tests.support.drivers.conversation import reply, tool
from tests.support.servers.running_product import RunningProduct
from tests.support.worlds.world import World, make_persona, make_skill, make_world

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]

CUSTOMER = "http:kim"
ANSWER = "Parcel 77 is in Lyon, Kim."
PROGRAMS = [
    "plain_sdk.py",
    pytest.param("langgraph_agent.py", marks=pytest.mark.langgraph),
]


@pytest.fixture
def world() -> World:
    world = make_world()
    make_persona(world)
    return world


def run_program(product: RunningProduct, world: World, program: str, text: str) -> str:
    """What the program prints, or why it stopped."""
    where = {
        "PRECEPTOR_URL": product.url,
        "PRECEPTOR_TOKEN": world.token,
        # Where `make examples-test` puts LangGraph; the other program needs nothing that is not here.
        "PYTHONPATH": os.environ.get("LANGGRAPH_HOME", ""),
    }
    ended = product.run(f"examples/{program}", "thread-1", CUSTOMER, text, **where)
    return (ended.stdout or ended.stderr).strip()


def rows(world: World, model: Any, **equal: object) -> list[Any]:
    with acting_as(world.system):
        return list(model._default_manager.filter(tenant_id=world.tenant.pk, **equal).order_by("pk"))


@pytest.mark.parametrize("program", PROGRAMS)
def test_program_answers_with_our_memory_and_its_own_model_and_tools(
    product: RunningProduct, world: World, program: str
) -> None:
    skill = make_skill(world, "approved")
    product.standin.forget()
    product.standin.play(
        tool("get_skill", skill_id=skill.pk),
        tool("update_customer_profile", notes="Wants to be called Kim."),
        tool("track_parcel", number="77"),
        reply(ANSWER),
        reply("You are welcome."),
    )
    assert run_program(product, world, program, "Where is parcel 77? Call me Kim.") == ANSWER
    assert run_program(product, world, program, "Thank you.") == "You are welcome."
    first, second = rows(world, Turn)
    assert (first.status, second.outcome, first.session_id) == ("done", "replied", second.session_id)
    assert [call.model for call in rows(world, ModelCall, turn=first)] == [rows(world, ModelCall)[0].model] * 4
    assert {step.name for step in rows(world, ToolStep)} == {"get_skill", "update_customer_profile", "track_parcel"}
    assert [message.text for message in rows(world, Message, is_reply=True)] == [ANSWER, "You are welcome."]
    [profile] = rows(world, CustomerProfile)
    assert (profile.end_user_key, profile.notes) == (CUSTOMER, "Wants to be called Kim.")
    [*_, last] = product.standin.requests()
    assert ANSWER in str(last["messages"])
    assert "cache_control" in str(last)
    assert not any(call.has_unexpected_miss for call in rows(world, ModelCall))


@pytest.mark.parametrize("program", PROGRAMS)
def test_program_whose_reply_waits_for_a_person_says_so_and_sends_nothing(
    product: RunningProduct, world: World, program: str
) -> None:
    amend_agent(world.agent, actor=world.admin, send_mode="suggest")
    assert "Send nothing. A person reads the reply first" in run_program(product, world, program, "Where is my parcel?")
    assert rows(world, Message, is_reply=True) == []


@pytest.mark.parametrize("program", PROGRAMS)
def test_program_with_a_token_that_was_revoked_is_told_so(product: RunningProduct, world: World, program: str) -> None:
    refused = run_program(product, replace(world, token="pcp_nobody"), program, "Hello")
    assert "token" in refused
