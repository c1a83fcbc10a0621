"""The books of the prompt cache: what each call should read and what it was billed, on the stand-in that bills by the rules."""

import pytest

from apps.conversations.models import Message
from apps.governance.database.actor_transaction import acting_as
from apps.personas.actions import amend_persona
from apps.personas.models import Persona
from apps.prompt.cache.cost_attribution import parse_charges
from apps.prompt.prompt_input import Slot
from apps.runtime.models import ModelCall, Turn
from apps.tenants.actions import amend_agent
from tests.support.coverage_tracing import without_tracing
from tests.support.drivers.conversation import prompt, run_customer_turn, tool
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_memory, make_persona, make_profile, make_skill, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    """An agent whose prompt is long enough for every model's cache."""
    with without_tracing():
        return make_long_world()


def make_long_world() -> World:
    world = make_world()
    make_persona(world, identity=f"You are Ada of {world.tenant.key}. " * 100, style="Warm and brief. " * 120)
    make_memory(world, "Parcels are sent on Mondays. " * 65)
    for number in range(20):
        make_skill(world, "approved", title=f"Handle case {number}", description="What to do then. " * 15)
    return world


def calls(world: World, turn: Turn) -> list[ModelCall]:
    with acting_as(world.system):
        return list(ModelCall.objects.filter(turn=turn).order_by("step"))


def test_every_call_is_billed_what_it_was_expected_to_be(world: World, standin: StandIn) -> None:
    # R181, R183, R185
    make_profile(world, preferences="Prefers letters. " * 50)
    standin.play(tool("list_skills"), tool("update_customer_profile", notes="Lives upstairs."))
    first, second = run_customer_turn(world, "Hello", standin), run_customer_turn(world, "And again", standin)
    other = run_customer_turn(world, "Hello", standin, thread="another")
    billed = [call for turn in (first, second, other) for call in calls(world, turn)]
    assert len(billed) == 5
    for call in billed:
        billed_as = {
            "read": call.cache_read_tokens,
            "written_1h": call.cache_write_1h_tokens,
            "written_5m": call.cache_write_5m_tokens,
            "uncached": call.input_tokens,
        }
        assert call.cache_ledger["expected"] == {name: tokens for name, tokens in billed_as.items() if tokens}
        assert call.expected_read_tokens == call.cache_read_tokens
        assert not call.has_unexpected_miss
        by_slot = parse_charges(call.cache_ledger["slots"])
        assert {Slot.PERSONA, Slot.MEMORY, Slot.PROFILE} < {charge.slot for charge in by_slot}
        written = call.cache_write_1h_tokens + call.cache_write_5m_tokens
        assert [sum(getattr(charge, kind) for charge in by_slot) for kind in ("read", "written", "uncached")] == [
            *(call.cache_read_tokens, written, call.input_tokens)
        ]
    assert [call.cache_read_tokens > 0 for call in billed] == [False, True, True, True, True]
    with acting_as(world.system):
        assert standin.requests()[-1]["system"] != []


def first_call_miss(world: World, turn: Turn) -> tuple[dict[str, object], bool]:
    """What the first call of a turn says about tokens that were not read, and whether that was unexpected."""
    call = calls(world, turn)[0]
    miss: dict[str, object] = call.cache_ledger["miss"]
    return miss, call.has_unexpected_miss


@pytest.mark.slow
def test_what_the_provider_forgot_is_an_unexpected_miss(world: World, standin: StandIn) -> None:
    # R185
    run_customer_turn(world, "Hello", standin)
    standin.advance(2 * 3600)
    miss, unexpected = first_call_miss(world, run_customer_turn(world, "And again", standin))
    assert unexpected
    assert miss["cause"] == "not_cached"
    assert "the provider did not have them" in str(miss["detail"])
    run_customer_turn(world, "Hello", standin, thread="other")
    standin.advance(2 * 3600)
    late = calls(world, run_customer_turn(world, "Hello", standin, thread="another"))[0]
    assert late.cache_ledger["miss"]["cause"] == "not_cached"
    assert late.has_unexpected_miss


def test_a_new_session_names_the_first_byte_that_differs_and_whose_it_is(world: World, standin: StandIn) -> None:
    amend_agent(world.agent, actor=world.admin, session_idle_seconds=0)
    run_customer_turn(world, "Hello", standin)
    with acting_as(world.operator):
        persona = Persona.objects.get(agent=world.agent)
    amend_persona(persona, actor=world.admin, values={"style": persona.style.replace("brief", "short", 1)})
    miss, unexpected = first_call_miss(world, run_customer_turn(world, "And again", standin))
    assert not unexpected
    owner = miss["owner"]
    assert isinstance(owner, dict)
    assert (miss["cause"], miss["slot"]) == ("new_session", Slot.PERSONA)
    assert (owner["record_type"], owner["field"], owner["version"]) == ("personas.persona", "style", 2)
    assert owner["author"] == world.admin.label
    text = prompt(standin.requests()[-1])
    byte = miss["byte"]
    assert isinstance(byte, int)
    assert text.encode()[byte:].startswith(b"short")


def test_another_model_shares_no_cache(world: World, standin: StandIn) -> None:
    run_customer_turn(world, "Hello", standin)
    amend_agent(world.agent, actor=world.admin, model="claude-opus-4-8")
    miss, unexpected = first_call_miss(world, run_customer_turn(world, "And again", standin))
    assert (miss["cause"], unexpected) == ("another_model", False)


def test_a_history_that_was_cut_is_a_declared_cause(world: World, standin: StandIn) -> None:
    # R143
    turn = run_customer_turn(world, "Hello", standin)
    wires = [
        {"role": role, "content": [{"type": "text", "text": f"{role} {number} " + "word " * 60}]}
        for number in range(49)
        for role in ("user", "assistant")
    ]
    with acting_as(world.system):
        Message.objects.bulk_create(
            Message(
                tenant_id=world.tenant.pk,
                conversation_id=turn.conversation_id,
                position=1000 + place,
                sender=Message.Sender.AGENT,
                api_message=wire,
            )
            for place, wire in enumerate(wires)
        )
    run_customer_turn(world, "Still here", standin)
    miss, unexpected = first_call_miss(world, run_customer_turn(world, "And again", standin))
    assert (miss["cause"], unexpected) == ("history_cut", False)


def test_a_prefix_too_short_for_the_model_is_said(standin: StandIn) -> None:
    # R184
    world = make_world()
    amend_agent(world.agent, actor=world.admin, model="claude-haiku-4-5")
    [call] = calls(world, run_customer_turn(world, "Hello", standin))
    assert call.cache_write_1h_tokens + call.cache_write_5m_tokens == 0
    short = call.cache_ledger["shortfalls"][-1]
    assert short["prefix_tokens"] + short["missing_tokens"] == 4096
