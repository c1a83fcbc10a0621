"""What came of a conversation: found through records, proposals and revisions, shown by line."""

import pytest

from apps.conversations.models import Conversation
from apps.governance.models import Governed, Proposal
from apps.learning.lineage import Descendant, descendants
from apps.memory.actions import amend_memory, amend_profile
from apps.memory.models import AgentMemory, CustomerProfile
from apps.personas.actions import apply_patch, propose_patch
from apps.personas.models import Persona
from apps.skills.actions import approve_skill, discard_skill, draft_skill
from apps.skills.models import Skill
from tests.factories import World, make_conversation, make_memory, make_persona, make_profile, make_world

pytestmark = pytest.mark.django_db

RUNBOOK = {"title": "Greet", "description": "How to greet.", "body": "## Procedure\nSay hello."}


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def conversation(world: World) -> Conversation:
    return make_conversation(world)


def found(world: World, conversation: Conversation, model: type[Governed]) -> Descendant:
    rows = descendants(conversation, actor=world.operator)
    return next(row for row in rows if row.record_type == model._meta.label_lower)


def reach(world: World, conversation: Conversation) -> tuple[Skill, AgentMemory, CustomerProfile, Proposal]:
    """One of everything, from this conversation."""
    evidence = {"conversation_id": conversation.pk}
    skill = draft_skill(world.agent.pk, actor=world.bot, values=RUNBOOK, evidence=evidence)
    memory = make_memory(world, "Known before.")
    body = "Known before.\nParcels arrive broken."
    amend_memory(memory, actor=world.bot, body=body, evidence=evidence)
    profile = make_profile(world)
    values = {"preferences": "Prefers email.\nPrefers mornings."}
    amend_profile(profile, actor=world.bot, values=values, evidence=evidence)
    proposal = propose_patch(make_persona(world), actor=world.bot, text="Be brief.", evidence=evidence)
    return skill, memory, profile, proposal


def test_every_row_that_names_the_conversation_is_found_with_its_lines(
    world: World, conversation: Conversation
) -> None:
    reach(world, conversation)
    draft_skill(world.agent.pk, actor=world.bot, values={**RUNBOOK, "title": "Other"})
    assert found(world, conversation, Skill).label == "greet"
    memory = found(world, conversation, AgentMemory)
    assert (memory.lines, memory.standing, memory.state) == (
        ("Parcels arrive broken.",),
        ("Parcels arrive broken.",),
        "live",
    )
    assert found(world, conversation, CustomerProfile).lines == ("Prefers mornings.",)
    kinds = [row.record_type for row in descendants(conversation, actor=world.operator)]
    assert kinds.count("skills.skill") == 1
    assert kinds.count("governance.proposal") == 1


def test_what_a_proposal_changed_and_what_was_built_on_a_skill_is_found(
    world: World, conversation: Conversation
) -> None:
    skill = draft_skill(world.agent.pk, actor=world.bot, values=RUNBOOK, evidence={"conversation_id": conversation.pk})
    approve_skill(skill, actor=world.operator, reviewed_sha256=skill.content_sha256)
    assert "skill.approve" in found(world, conversation, Skill).acts
    persona = make_persona(world, identity="You are Ada.")
    proposal = propose_patch(persona, actor=world.bot, text="Be brief.", evidence={"conversation_id": conversation.pk})
    apply_patch(
        persona, actor=world.operator, proposal=proposal, values={"style": "Brief."}, read_at=1, proposal_read_at=1
    )
    assert found(world, conversation, Persona).acts == ("persona.amend",)


def test_a_line_that_was_rewritten_stands_no_more(world: World, conversation: Conversation) -> None:
    _, memory, *_ = reach(world, conversation)
    amend_memory(memory, actor=world.operator, body="Known before.")
    gone = found(world, conversation, AgentMemory)
    assert (gone.lines, gone.standing, gone.state) == (("Parcels arrive broken.",), (), "taken out")


def test_a_discarded_draft_is_said_to_be_gone(world: World, conversation: Conversation) -> None:
    skill, *_ = reach(world, conversation)
    discard_skill(skill, actor=world.operator)
    assert (found(world, conversation, Skill).state, found(world, conversation, Skill).label) == ("gone", "greet")


def test_another_tenant_finds_nothing(world: World, conversation: Conversation) -> None:
    # R006
    reach(world, conversation)
    assert descendants(conversation, actor=make_world().operator) == []
