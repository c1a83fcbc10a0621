"""Proposals whose target changed meanwhile: every list finds them, and what merges without a choice is rebased."""

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, IllegalTransition, Stale
from apps.governance.models import ChangeRecord, Proposal
from apps.governance.policy.policy_table import Act
from apps.governance.proposals.actions import reject_proposal, snooze_proposal
from apps.personas.actions import propose_patch, propose_rules
from apps.review.appliers.registry import APPLIERS, applier_of, target_of
from apps.review.approval_verdict import needs_rebase
from apps.review.decisions import rebase, rebase_cleanly
from apps.review.proposal_queues import rebase_condition
from apps.skills.actions import revise_skill
from apps.skills.proposals import propose_revision
from tests.support.factories.approvals import approve_as_read
from tests.support.factories.bulk_decisions import reload_proposal, waiting_draft
from tests.support.factories.stale_proposals import (
    CLASH,
    MAKERS,
    MERGEABLE,
    MERGED,
    OURS,
    THEIRS,
    make_stale,
    propose_memory_body,
)
from tests.support.worlds.world import World, make_persona, make_skill, make_world

pytestmark = [pytest.mark.kernel, pytest.mark.django_db]


@pytest.fixture
def world() -> World:
    return make_world()


def is_stale_in_lists(world: World, proposal: Proposal) -> bool:
    """Whether lists count it among those that need a rebase; the rule for a loaded row has to agree."""
    with acting_as(world.operator):
        found = Proposal.objects.visible_to(world.operator).filter(rebase_condition(), pk=proposal.pk).exists()
        row = Proposal.objects.get(pk=proposal.pk)
        target = target_of(row, world.operator)
        assert target is not None
        assert found is needs_rebase(row, target, applier_of(row))
    return found


def test_every_kind_that_can_go_stale_has_its_hash_in_sql() -> None:
    assert {kind for (kind, _), applier in APPLIERS.items() if applier.sql_sha256 is not None} == {
        kind for (kind, _), applier in APPLIERS.items() if not applier.appends
    }
    assert {*MAKERS, Proposal.Kind.SKILL_NEW} == {
        kind for (kind, _), applier in APPLIERS.items() if not applier.appends
    }


@pytest.mark.parametrize("kind", MAKERS)
def test_lists_find_what_went_stale_as_the_decision_does(world: World, kind: Proposal.Kind) -> None:
    proposal, change_live_text = MAKERS[kind](world)
    assert not is_stale_in_lists(world, proposal)
    change_live_text(THEIRS)
    assert is_stale_in_lists(world, proposal)


def test_what_is_free_text_or_adds_lines_or_is_decided_needs_no_rebase(world: World) -> None:
    persona = make_persona(world)
    patch = propose_patch(persona, actor=world.bot, text="Say hello first.")
    rules = propose_rules(world.agent, actor=world.bot, lines=["Offer a call back."])
    draft = waiting_draft(world, title="Größe 漢字 🎉")
    for proposal in (patch, rules, draft):
        assert not is_stale_in_lists(world, proposal)
    decided = make_stale(world, Proposal.Kind.SKILL_REVISION)
    reject_proposal(decided, actor=world.operator, reason="No.")
    with acting_as(world.operator):
        assert not Proposal.objects.filter(rebase_condition()).exists()


@pytest.mark.parametrize("kind", sorted(MERGEABLE))
def test_changes_of_other_lines_are_merged_and_wait_for_a_decision(world: World, kind: Proposal.Kind) -> None:
    proposal = make_stale(world, kind)
    [name] = proposal.words
    rebase_cleanly(proposal, actor=world.admin)
    merged = reload_proposal(world, proposal)
    assert (merged.words, merged.state) == ({name: MERGED}, Proposal.State.OPEN)
    assert not is_stale_in_lists(world, proposal)
    approve_as_read(merged, world.operator)
    with acting_as(world.operator):
        assert getattr(target_of(merged, world.operator), name) == MERGED
        [record] = ChangeRecord.objects.filter(act=Act.PROPOSAL_REBASE.value)
        assert record.actor_label == world.admin.label


@pytest.mark.parametrize("kind", [*sorted(MERGEABLE), Proposal.Kind.RULE_CHANGE])
def test_a_change_of_the_same_line_is_left_to_a_person(world: World, kind: Proposal.Kind) -> None:
    proposal = make_stale(world, kind, CLASH)
    before = reload_proposal(world, proposal)
    with pytest.raises(Conflict, match="changed the same place"):
        rebase_cleanly(proposal, actor=world.operator)
    assert reload_proposal(world, proposal).version == before.version


def test_what_would_retire_a_changed_skill_is_read_again(world: World) -> None:
    with pytest.raises(Conflict, match="Read the skill"):
        rebase_cleanly(make_stale(world, Proposal.Kind.SKILL_DEPRECATION), actor=world.operator)


def test_a_field_that_the_proposal_left_alone_keeps_its_live_text(world: World) -> None:
    skill = make_skill(world, "approved", description="Old.", body="One.")
    proposal = propose_revision(skill, actor=world.bot, values={"description": "Old.", "body": "Two."})
    revise_skill(skill, actor=world.operator, values={"description": "New."})
    rebase_cleanly(proposal, actor=world.operator)
    approve_as_read(proposal, world.operator)
    with acting_as(world.operator):
        skill.refresh_from_db()
    assert (skill.description, skill.body) == ("New.", "Two.")


def test_a_merge_without_a_line_that_has_a_date_is_left_to_a_person(world: World) -> None:
    proposal, change_live_text = propose_memory_body(world)
    rebase(proposal, actor=world.operator, content={"body": OURS, "valid_until": {"Fourth.": "2999-12-31"}})
    change_live_text(THEIRS)
    with pytest.raises(Conflict, match="no longer fit the live text"):
        rebase_cleanly(proposal, actor=world.operator)


def test_what_is_up_to_date_is_not_rebased(world: World) -> None:
    proposal = make_stale(world, Proposal.Kind.MEMORY_BODY)
    rebase_cleanly(proposal, actor=world.operator)
    with pytest.raises(Conflict, match="nothing to rebase"):
        rebase_cleanly(proposal, actor=world.operator)


def test_only_what_was_read_and_is_open_is_rebased(world: World) -> None:
    proposal = make_stale(world, Proposal.Kind.SKILL_REVISION)
    read_at = proposal.version
    snooze_proposal(proposal, actor=world.admin, until=proposal.expires_at)
    with pytest.raises(Stale):
        rebase_cleanly(proposal, actor=world.operator, read_at=read_at)
    reject_proposal(proposal, actor=world.operator, reason="No.")
    with pytest.raises(IllegalTransition):
        rebase_cleanly(proposal, actor=world.operator)
