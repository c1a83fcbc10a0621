"""What operators write and choose, from their rows to the bytes the model is sent."""

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.prompt.instruction_texts import DISCLOSURE_TEXTS, PLATFORM_CORE
from apps.prompt.parsing.system_prompt import parse_system_prompt
from apps.prompt.parsing.user_turn import parse_user_turn
from apps.prompt.prompt_input import Disclosure, EventKind, Slot
from apps.prompt.rendering.segments import decode_segments
from apps.tenants.actions import amend_agent, amend_settings
from apps.tenants.models import TenantSettings
from tests.support.drivers.conversation import prompt, run_customer_turn, run_turn, send_customer_message
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import (
    World,
    make_block,
    make_identity_card,
    make_invokable,
    make_memory,
    make_overlay,
    make_persona,
    make_profile,
    make_rule,
    make_skill,
    make_world,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


def settings_of(world: World) -> TenantSettings:
    with acting_as(world.admin):
        return TenantSettings.objects.get()


def system_prompt(world: World, standin: StandIn, **more: object) -> str:
    """The system prompt of a new conversation's first call."""
    run_customer_turn(world, f"Hello {len(standin.requests())}", standin, thread=f"thread {len(standin.requests())}")
    return prompt(standin.requests()[-1])


def last_user_turn(standin: StandIn) -> str:
    """The user turn of the last call."""
    text: str = standin.requests()[-1]["messages"][-1]["content"][0]["text"]
    return text


def test_every_row_stands_in_its_section(world: World, standin: StandIn) -> None:
    # R035, R036, R049, R052, R053, R057, R186, R188, Z-1
    make_persona(world, goals="Solve it at the first contact.")
    make_overlay(world, "Use nautical terms.")
    make_identity_card(world, business_name="Acme Lamps", assigned_name="Grace Hopper")
    make_rule(world, "Never ask for a card number.", of_agent=False)
    make_rule(world, "Hand refunds above 100 EUR over.")
    make_invokable(world, role_hint="Knows every invoice.")
    make_block(world, body="We ship to the EU only.")
    make_block(world, label="Unpinned", body="Nobody is told this.", is_pinned=False)
    make_skill(world, "approved")
    make_memory(world)
    text = system_prompt(world, standin)
    words = (
        "Business: Acme Lamps",
        "You are Ada",
        "Your goals:\nSolve it at the first contact.",
        "Use nautical terms.",
        PLATFORM_CORE,
        "Never ask for a card number.",
        "Hand refunds above 100 EUR over.",
        "issue-a-refund",
        "Knows every invoice.",
        "Most customers are in the EU.",
        "We ship to the EU only.",
    )
    places = [text.index(each) for each in words]
    assert places == sorted(places)
    assert "Nobody is told this." not in text
    assert [slot.slot for slot in parse_system_prompt(text)] == [Slot.PERSONA, Slot.CONTRACT, Slot.SKILLS, Slot.MEMORY]


def test_the_tenants_order_and_disclosure_are_in_the_next_session(world: World, standin: StandIn) -> None:
    # Z-11, Z-16
    make_persona(world)
    before = system_prompt(world, standin)
    amend_settings(settings_of(world), actor=world.admin, slot_order="contract_first", ai_disclosure="always")
    after = system_prompt(world, standin)
    assert before.index("You are Ada") < before.index(PLATFORM_CORE)
    assert after.index(PLATFORM_CORE) < after.index("You are Ada")
    assert DISCLOSURE_TEXTS[Disclosure.ALWAYS] in after
    assert DISCLOSURE_TEXTS[Disclosure.ALWAYS] not in before


def test_the_agents_choices_are_in_the_next_session(world: World, standin: StandIn) -> None:
    # R056, R060, R168
    make_persona(world)
    make_memory(world)
    make_profile(world)
    skill = make_skill(world, "approved", body="## Procedure\n1. Ask for the number.\n")
    amend_agent(world.agent, actor=world.admin, context_tier=1, skill_index="full", has_current_time=False)
    text = system_prompt(world, standin)
    assert "1. Ask for the number." in text
    assert f"(id: {skill.pk})" in text
    for words in ("Warm and concise.", "Most customers are in the EU.", "Prefers email."):
        assert words not in text
    assert "Never promise refund dates." in text
    assert "Current date and time" not in last_user_turn(standin)
    amend_agent(world.agent, actor=world.admin, has_current_time=True)
    system_prompt(world, standin)
    assert "Current date and time" in last_user_turn(standin)


def test_who_is_in_charge_of_a_line_stands_in_the_user_turn_alone(world: World, standin: StandIn) -> None:
    # R133, R187
    make_identity_card(world, assigned_name="Grace Hopper")
    sales = make_identity_card(world, line_key="sales", assigned_name="Alan Turing", assigned_title="Head of sales")
    turn = run_turn(world, send_customer_message(world, "Hello", line_key="sales"), standin.backend)
    assert "Alan Turing" not in prompt(standin.requests()[-1])
    assert "On line sales the contact person is Alan Turing, Head of sales." in last_user_turn(standin)
    assert turn.owners_of_asked is not None
    owned = decode_segments(Slot.TURN, last_user_turn(standin), turn.owners_of_asked)
    [name] = [segment for segment in owned.segments if segment.text == "Alan Turing"]
    assert name.source is not None
    assert (name.source.record_id, name.source.approver) == (sales.pk, world.operator.label)
    run_customer_turn(world, "Hello again", standin)
    assert "Alan Turing" not in last_user_turn(standin)


def test_a_text_message_and_its_delivery_are_framed_as_such(world: World, standin: StandIn) -> None:
    # R055, R140, R142
    event = send_customer_message(world, "Where is my parcel?", channel="sms", customer="sms:+34600000001")
    run_turn(world, event, standin.backend)
    turn = parse_user_turn(last_user_turn(standin))
    [told_event] = turn.events
    assert (told_event.kind, told_event.key, told_event.text) == (
        EventKind.SMS,
        "sms:+34600000001",
        "Where is my parcel?",
    )
    assert "Delivery: what you write is sent to the customer at once" in last_user_turn(standin)
    assert "Delivery:" not in prompt(standin.requests()[-1])
