"""Whose words the bytes of a prompt are, where several people and agents wrote in one row."""

import pytest

from apps.conversations.actions import receive_message
from apps.memory.actions import amend_block, amend_profile, approve_memory, write_block
from apps.prompt.instruction_texts import DISCLOSURE_TEXTS
from apps.prompt.prompt_input import Slot, TextProvenance
from apps.prompt.rendering.segments import decode_segments
from apps.prompt.rendering.snapshot import render_snapshot
from apps.prompt.text_reuse.derived_lines import NO_RECEIVED_TEXTS
from apps.runtime.prompt_snapshot.preview import preview_prompt_input
from apps.skills.actions import revise_skill
from apps.skills.proposals import propose_revision
from apps.tenants.actions import amend_agent, amend_settings
from tests.runtime.prompt_snapshot.test_prompt_choices import settings_of
from tests.support.drivers.conversation import CUSTOMER, prompt, run_turn, send_customer_message, tool
from tests.support.factories.approvals import approve_as_read
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import (
    World,
    make_block,
    make_invokable,
    make_memory,
    make_profile,
    make_skill,
    make_world,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


def source_of_words(world: World, words: str) -> TextProvenance:
    """The source of the one segment that holds these words, in a session that would open now."""
    assembled = render_snapshot(preview_prompt_input(world.agent, CUSTOMER, system=world.system))
    [source] = {span.segment.source for span in assembled.spans() if words in span.segment.text}
    assert source is not None
    return source


def test_a_skill_is_by_who_changed_it_last_and_approved_by_who_let_it(world: World) -> None:
    skill = make_skill(world, "approved", description="The first words.")
    assert source_of_words(world, "The first words.").author == world.bot.label
    revise_skill(skill, actor=world.admin, values={"description": "Words of the admin."})
    found = source_of_words(world, "Words of the admin.")
    assert (found.author, found.approver) == (world.admin.label, world.admin.label)


def test_an_applied_proposal_keeps_its_author_and_its_taint(world: World) -> None:
    skill = make_skill(world, "approved", actor=world.operator, description="The first words.")
    proposal = propose_revision(skill, actor=world.bot, values={"description": "What the agent proposed."})
    approve_as_read(proposal, world.admin)
    found = source_of_words(world, "What the agent proposed.")
    assert (found.author, found.approver, found.taint) == (world.bot.label, world.admin.label, "agent")


def test_a_memory_that_a_person_approved_stays_the_agents_words(world: World) -> None:
    memory = make_memory(world, "Lunch is at noon.")
    assert source_of_words(world, "Lunch is at noon.") == TextProvenance(
        "memory.agentmemory", memory.pk, 1, "body", world.bot.label, "", "agent"
    )
    approve_memory(memory, actor=world.operator, read_at=memory.version)
    found = source_of_words(world, "Lunch is at noon.")
    assert (found.author, found.approver) == (world.bot.label, world.operator.label)


def test_two_notes_of_one_profile_have_their_own_authors(world: World) -> None:
    profile = make_profile(world, CUSTOMER, preferences="Prefers letters.")
    amend_profile(profile, actor=world.operator, values={"notes": "Pays by invoice."})
    assert source_of_words(world, "Prefers letters.").author == world.bot.label
    assert source_of_words(world, "Prefers letters.").version == 1
    assert source_of_words(world, "Pays by invoice.").author == world.operator.label


def test_a_blocks_label_and_its_body_have_their_own_authors_and_versions(world: World) -> None:
    block = make_block(world, label="BusinessFacts", body="Written by a person.")
    amend_block(block, actor=world.bot, heard=NO_RECEIVED_TEXTS, body="Written by the agent.")
    write_block(block, actor=world.operator, values={"label": "Facts"})
    body, label = source_of_words(world, "Written by the agent."), source_of_words(world, "Facts")
    assert (body.approver, body.version, body.taint) == ("", 2, "agent")
    assert (label.author, label.version, label.field) == (world.operator.label, 3, "label")


def test_another_agents_title_is_not_the_hints(world: World) -> None:
    row = make_invokable(world, role_hint="Knows every invoice.")
    assert source_of_words(world, "Knows every invoice.").record_type == "tenants.invokableagent"
    assert source_of_words(world, "Billing") == source_of_words(world, "billing")
    assert (source_of_words(world, "Billing").record_type, source_of_words(world, "Billing").record_id) == (
        "tenants.agent",
        row.callee_id,
    )


def test_the_bare_agent_says_that_it_is_an_ai_as_the_tenant_decided(world: World) -> None:  # Z-11
    amend_settings(settings_of(world), actor=world.admin, ai_disclosure="always")
    amend_agent(world.agent, actor=world.admin, has_learning=False)
    assembled = render_snapshot(preview_prompt_input(world.agent, CUSTOMER, system=world.system))
    assert assembled.text.endswith(next(text for policy, text in DISCLOSURE_TEXTS.items() if policy == "always"))


def test_off_the_record_nobody_is_told_to_write_things_down_and_no_use_is_counted(
    world: World, standin: StandIn
) -> None:  # R178
    skill = make_skill(world, "approved")
    standin.play(tool("get_skill", skill_id=skill.pk))
    run_turn(world, send_customer_message(world, "Hello", off_the_record=True), standin.backend)
    assert "draft_skill" not in prompt(standin.requests()[0])
    given = preview_prompt_input(world.agent, CUSTOMER, system=world.system)
    assert [line.use_count for line in given.skills] == [0]


def test_an_operators_instruction_is_by_the_operator_who_gave_it(world: World, standin: StandIn) -> None:
    # R140, R141
    event = receive_message(
        world.agent.pk,
        actor=world.operator,
        channel="http",
        conversation_key="thread",
        end_user_key=CUSTOMER,
        text="Offer an exchange first.",
        idempotency_key="1",
    )
    turn = run_turn(world, event, standin.backend)
    text = standin.requests()[0]["messages"][0]["content"][0]["text"]
    assert turn.owners_of_asked is not None
    owners = {each.source for each in decode_segments(Slot.TURN, text, turn.owners_of_asked).segments if each.source}
    assert {(source.author, source.approver, source.taint) for source in owners} == {
        (world.operator.label, world.operator.label, "operator")
    }
