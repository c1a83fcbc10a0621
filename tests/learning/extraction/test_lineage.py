"""What came of a conversation: found through records, proposals and revisions, shown by line, taken away in one act."""

import json

import pytest

from apps.conversations.models import Conversation
from apps.governance.audit.row_history import records_by_evidence
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Invalid, NotPermitted, NotVisible
from apps.governance.models import Governed, Proposal
from apps.learning.lineage import Descendant, descendants, quarantine_descendants
from apps.memory.actions import amend_memory, amend_profile
from apps.memory.models import AgentMemory, CustomerProfile
from apps.personas.actions import propose_patch
from apps.prompt.memory_lines.write_holds import MemoryReview
from apps.prompt.text_reuse.derived_lines import NO_RECEIVED_TEXTS, ReceivedTexts
from apps.review.approval_verdict import ApprovalRequest
from apps.review.decisions import approve
from apps.review.skill_actions import approve_skill
from apps.skills.actions import draft_skill
from apps.skills.models import Skill
from apps.skills.quarantine import release_skill
from tests.support.database.raw_sql_as_role import NO_RIGHT, run_and_undo
from tests.support.worlds.world import World, make_conversation, make_memory, make_persona, make_profile, make_world

pytestmark = pytest.mark.django_db

RUNBOOK = {"title": "Greet", "description": "How to greet.", "body": "## Procedure\nSay hello."}


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def conversation(world: World) -> Conversation:
    return make_conversation(world)


def reload_row(world: World, row: Governed) -> Governed:
    with acting_as(world.operator):
        return type(row)._base_manager.get(pk=row.pk)


def find_descendant(world: World, conversation: Conversation, model: type[Governed]) -> Descendant:
    rows = descendants(conversation, actor=world.operator)
    return next(row for row in rows if row.record_type == model._meta.label_lower)


def make_descendants(world: World, conversation: Conversation) -> tuple[Skill, AgentMemory, CustomerProfile, Proposal]:
    """One of everything, from this conversation."""
    evidence = {"conversation_id": conversation.pk}
    skill = draft_skill(world.agent.pk, actor=world.bot, values=RUNBOOK, evidence=evidence)
    memory = make_memory(world, "Known before.")
    body = "Known before.\nParcels arrive broken."
    amend_memory(memory, actor=world.bot, body=body, heard=NO_RECEIVED_TEXTS, evidence=evidence)
    profile = make_profile(world)
    values = {"preferences": "Prefers email.\nPrefers mornings."}
    amend_profile(profile, actor=world.bot, values=values, evidence=evidence)
    proposal = propose_patch(make_persona(world), actor=world.bot, text="Be brief.", evidence=evidence)
    return skill, memory, profile, proposal


def test_every_row_that_names_the_conversation_is_found_with_its_lines(
    world: World, conversation: Conversation
) -> None:
    make_descendants(world, conversation)
    draft_skill(world.agent.pk, actor=world.bot, values={**RUNBOOK, "title": "Other"})
    assert find_descendant(world, conversation, Skill).label == "greet"
    memory = find_descendant(world, conversation, AgentMemory)
    assert (memory.lines, memory.standing, memory.state) == (
        ("Parcels arrive broken.",),
        ("Parcels arrive broken.",),
        "live",
    )
    assert find_descendant(world, conversation, CustomerProfile).lines == ("Prefers mornings.",)
    kinds = [row.record_type for row in descendants(conversation, actor=world.operator)]
    assert kinds.count("skills.skill") == 1
    assert kinds.count("governance.proposal") == 2


def test_what_a_proposal_changed_and_what_was_built_on_a_skill_is_found(
    world: World, conversation: Conversation
) -> None:
    skill, *_ = make_descendants(world, conversation)
    approve_skill(skill, actor=world.operator, reviewed_sha256=skill.content_sha256)
    assert "skill.approve" in find_descendant(world, conversation, Skill).acts
    careful = make_world(memory_review=MemoryReview.TAINTED)
    source = make_conversation(careful)
    memory = make_memory(careful, "Known.")
    heard = ReceivedTexts(("Parcels arrive broken and wet.",))
    evidence = {"conversation_id": source.pk}
    amend_memory(memory, actor=careful.bot, body="Known.\nParcels arrive broken.", heard=heard, evidence=evidence)
    with acting_as(careful.operator):
        waiting = Proposal.objects.visible_to(careful.operator).open().get()
    approve(waiting, ApprovalRequest(waiting.content_sha256), actor=careful.operator)
    assert find_descendant(careful, source, AgentMemory).standing == ("Parcels arrive broken.",)


def test_all_of_it_is_taken_away_in_one_act_and_can_be_released(world: World, conversation: Conversation) -> None:
    skill, memory, profile, proposal = make_descendants(world, conversation)
    with pytest.raises(Invalid, match="Say why"):
        quarantine_descendants(conversation, actor=world.operator, reason=" ")
    taken = quarantine_descendants(conversation, actor=world.operator, reason="Planted.")
    assert len(taken) == 5
    memory, profile, proposal = (reload_row(world, row) for row in (memory, profile, proposal))
    assert (memory.body, profile.preferences, proposal.state) == ("Known before.", "Prefers email.", "quarantined")
    assert not memory.is_approved, "whoever takes a line out does not vouch for the others"
    with acting_as(world.bot):
        assert not Skill.objects.visible_to(world.bot).filter(pk=skill.pk).exists()
    states = {row.state for row in descendants(conversation, actor=world.operator)}
    assert states == {"quarantined", "taken out"}
    assert quarantine_descendants(conversation, actor=world.operator, reason="Again.") == []
    release_skill(skill, actor=world.operator, reason="Read.")
    with acting_as(world.bot):
        assert Skill.objects.visible_to(world.bot).filter(pk=skill.pk).exists()


def test_only_a_person_of_the_tenant_takes_anything_away(world: World, conversation: Conversation) -> None:
    make_descendants(world, conversation)
    with pytest.raises(NotVisible):
        quarantine_descendants(conversation, actor=make_world().operator, reason="No.")
    for actor in (world.bot, world.system):
        with pytest.raises(NotPermitted):
            quarantine_descendants(conversation, actor=actor, reason="No.")


def test_records_of_another_tenant_are_named_to_nobody(world: World, conversation: Conversation) -> None:
    # R006
    make_descendants(world, conversation)
    other, facts = make_world(), [{"conversation_id": conversation.pk}]
    with acting_as(world.operator):
        assert records_by_evidence(world.tenant.pk, facts).exists()
        assert not records_by_evidence(world.tenant.pk, []).exists()
    with acting_as(other.operator):
        assert not records_by_evidence(other.tenant.pk, facts).exists()
    parameters, asked = [json.dumps(facts[0])], "SELECT find_change_records_by_evidence(ARRAY[%s]::text[]::jsonb[])"
    assert run_and_undo(other.operator, asked, parameters).found == ()
    assert run_and_undo(world.bot, asked, parameters).sqlstate == NO_RIGHT
