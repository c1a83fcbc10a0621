"""What a session stores: each part once, every byte with its owner, the tools as they were."""

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.personas.actions import amend_persona
from apps.prompt.prompt_input import Slot, TextProvenance
from apps.prompt.rendering.segments import decode_segments
from apps.runtime.models import Session, SnapshotPart
from apps.runtime.sessions.session_prefix import load_prefix, open_session
from apps.runtime.tools.builtin_catalog import builtin_tools
from apps.runtime.tools.builtin_tool import DEFAULT_OFFER
from tests.support.database.raw_sql_as_role import BROKEN_RULE, run_and_undo
from tests.support.drivers.conversation import CUSTOMER, run_customer_turn, run_turn, send_customer_message, sessions
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_memory, make_persona, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.mark.slow
def test_what_many_sessions_share_is_stored_once(world: World) -> None:
    # R062
    make_persona(world)
    make_memory(world)
    event = send_customer_message(world, "Hello")
    for _ in range(50):
        open_session(event.conversation, world.agent, system=world.system, agent_actor=world.bot)
    with acting_as(world.system):
        assert Session.objects.count() == 50
        assert sorted(SnapshotPart.objects.values_list("slot", flat=True)) == [0, 1, 2, 4]


def test_the_same_words_by_another_author_are_another_part(world: World) -> None:
    # R062
    persona = make_persona(world, style="Brief.")
    event = send_customer_message(world, "Hello")
    one = open_session(event.conversation, world.agent, system=world.system, agent_actor=world.bot)
    for style in ("Warm.", "Brief."):
        amend_persona(persona, actor=world.admin, values={"style": style})
    other = open_session(event.conversation, world.agent, system=world.system, agent_actor=world.bot)
    assert one.session.prefix_sha256 == other.session.prefix_sha256
    with acting_as(world.system):
        assert SnapshotPart.objects.filter(slot=1).count() == 2


def test_every_byte_of_the_frozen_prompt_and_of_the_user_turn_has_an_owner(world: World, standin: StandIn) -> None:
    persona = make_persona(world, style="Brief.")
    turn = run_customer_turn(world, "Where is my parcel?", standin)
    [session] = sessions(world, turn.conversation_id)
    with acting_as(world.system):
        frozen = load_prefix(session)
    spans = [span for part in frozen.assembled.parts for span in part.spans()]
    assert (
        b"".join(span.segment.text.encode() for span in spans)
        == "".join(part.text for part in frozen.assembled.parts).encode()
    )
    [style] = [span.segment for span in spans if span.segment.text == "Brief."]
    assert style.source == TextProvenance(
        "personas.persona", persona.pk, 1, "style", world.operator.label, world.operator.label, "operator"
    )
    text = standin.requests()[0]["messages"][0]["content"][0]["text"]
    assert turn.owners_of_asked is not None
    asked = decode_segments(Slot.TURN, text, turn.owners_of_asked)
    [customer_segment] = [segment for segment in asked.segments if segment.text == "Where is my parcel?"]
    assert customer_segment.source is not None
    assert (customer_segment.source.record_type, customer_segment.source.author) == (
        "conversations.inboundevent",
        CUSTOMER,
    )
    assert customer_segment.source.taint == "customer"


def test_tools_are_frozen_with_the_session_and_writers_are_not_offered_off_the_record(
    world: World, standin: StandIn
) -> None:
    # R058, R178
    on, off = (
        send_customer_message(world, "Hello", thread=thread, off_the_record=off)
        for thread, off in (("on", False), ("off", True))
    )
    for event in (on, off):
        run_turn(world, event, standin.backend)
    normal_request, unsaid = standin.requests()
    assert [tool["name"] for tool in normal_request["tools"]] == [tool.name for tool in builtin_tools(DEFAULT_OFFER)]
    assert [tool["name"] for tool in unsaid["tools"]] == ["get_skill", "list_skills", "get_skill_attachment"]
    assert "off the record" in unsaid["messages"][0]["content"][0]["text"]
    assert "off the record" not in normal_request["messages"][0]["content"][0]["text"]


def test_the_same_words_are_stored_once_per_tenant(world: World, standin: StandIn) -> None:
    # R062
    make_persona(world)
    one, two = (
        run_customer_turn(world, "Hello", standin, thread="one"),
        run_customer_turn(world, "Hello", standin, thread="two"),
    )
    assert one.session is not None
    assert two.session is not None
    with acting_as(world.system):
        assert set(one.session.parts.values_list("part", flat=True)) == set(
            two.session.parts.values_list("part", flat=True)
        )


def test_whose_words_were_asked_stays_once_the_turn_has_ended(world: World, standin: StandIn) -> None:
    turn = run_customer_turn(world, "Hello", standin)
    forged = run_and_undo(world.system, "UPDATE runtime_turn SET user_turn_segments = '{}' WHERE id = %s", [turn.pk])
    assert forged.sqlstate == BROKEN_RULE
