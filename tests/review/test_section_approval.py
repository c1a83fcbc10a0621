"""A reviewer takes some sections of what is proposed for a persona, and leaves the others as they are."""

import pytest

from apps.governance.actors import Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Invalid, NeedsAnotherReviewer, NeedsRebase, ReviewedContentChanged
from apps.governance.models import Approval, Proposal
from apps.personas.actions import amend_persona, propose_patch, propose_sections
from apps.personas.models import Persona
from apps.review.approval_verdict import ApprovalRequest
from apps.review.decisions import DecisionResult, undo
from apps.review.review_sheet import ProposalSheet, approve_sections, read_review_sheet
from apps.skills.proposals import propose_revision
from apps.tenants.authentication.actor_resolution import person_actor
from tests.support.factories.approvals import approve_as_read
from tests.support.worlds.world import World, make_member, make_persona, make_skill, make_world

pytestmark = pytest.mark.django_db
PROPOSED_FIELDS = {"style": "Brief.", "goals": "Be quick."}


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def persona(world: World) -> Persona:
    return make_persona(world)


@pytest.fixture
def proposal(world: World, persona: Persona) -> Proposal:
    return propose_sections(persona, actor=world.bot, values=PROPOSED_FIELDS)


def approve_parts(proposal: Proposal, world: World, *sections: str) -> DecisionResult:
    return approve_sections(proposal, sections, ApprovalRequest(proposal.content_sha256), actor=world.operator)


def reload_persona(world: World, persona: Persona) -> Persona:
    with acting_as(world.operator):
        return Persona.objects.visible_to(world.operator).get(pk=persona.pk)


def load_sheet(world: World, proposal: Proposal) -> ProposalSheet:
    with acting_as(world.operator):
        read = Proposal.objects.visible_to(world.operator).get(pk=proposal.pk)
    return read_review_sheet(read, actor=world.operator)


def test_one_of_two_sections_is_taken_and_the_others_stay(world: World, persona: Persona, proposal: Proposal) -> None:
    assert load_sheet(world, proposal).offered == PROPOSED_FIELDS
    assert approve_parts(proposal, world, "goals").applied
    now = reload_persona(world, persona)
    assert (now.goals, now.style, now.avoid) == ("Be quick.", persona.style, persona.avoid)
    assert (proposal.content, proposal.edited_content) == (PROPOSED_FIELDS, {"goals": "Be quick."})
    assert (load_sheet(world, proposal).left_out, proposal.edited_by) == (("style",), world.operator.label)
    with acting_as(world.operator):
        assert Approval.objects.get(proposal=proposal).is_edited


def test_all_sections_are_the_proposal_as_it_stands(world: World, persona: Persona, proposal: Proposal) -> None:
    assert approve_parts(proposal, world, "style", "goals").applied
    assert (proposal.edited_content, load_sheet(world, proposal).left_out) == (None, ())
    assert reload_persona(world, persona).style == "Brief."


def test_what_was_taken_is_undone_and_what_was_left_out_is_offered_again(
    world: World, persona: Persona, proposal: Proposal
) -> None:
    approve_parts(proposal, world, "goals")
    undo(proposal, actor=world.operator)
    assert reload_persona(world, persona).goals == persona.goals
    assert load_sheet(world, proposal).offered == PROPOSED_FIELDS
    assert approve_parts(proposal, world, "style").applied
    now = reload_persona(world, persona)
    assert (now.style, now.goals) == ("Brief.", persona.goals)


@pytest.mark.parametrize("sections", [(), ("avoid",), ("goals", "avoid"), ("nonsense",)])
def test_no_section_and_one_that_is_not_proposed_are_refused(
    world: World, persona: Persona, proposal: Proposal, sections: tuple[str, ...]
) -> None:
    with pytest.raises(Invalid, match=r"Choose at least one .*, or reject it\. It changes style, goals\."):
        approve_parts(proposal, world, *sections)
    assert reload_persona(world, persona).version == persona.version


def test_what_has_no_sections_is_not_taken_by_section(world: World, persona: Persona) -> None:
    patch = propose_patch(persona, actor=world.bot, text="Be quick.")
    revision = propose_revision(make_skill(world, "approved"), actor=world.bot, values={"body": "Ask first."})
    for whole in (patch, revision):
        assert load_sheet(world, whole).left_out == ()
        with pytest.raises(Invalid, match="no sections to choose from"):
            approve_parts(whole, world, "style")


def test_taking_high_risk_sections_is_an_edit_that_two_others_approve(world: World, persona: Persona) -> None:
    high = propose_sections(persona, actor=world.bot, values=PROPOSED_FIELDS | {"avoid": "Slang."})
    with pytest.raises(NeedsAnotherReviewer):
        approve_parts(high, world, "avoid")
    third = person_actor(make_member(world, "third").user_id, world.tenant.pk, Role.OPERATOR)
    decided = approve_parts(high, world, "avoid")
    assert (decided.applied, decided.approvals, decided.reviewers) == (False, 0, 2)
    assert not approve_as_read(high, world.admin).applied
    assert reload_persona(world, persona).avoid == persona.avoid
    assert approve_as_read(high, third).applied
    now = reload_persona(world, persona)
    assert (now.avoid, now.style, now.goals) == ("Slang.", persona.style, persona.goals)


def test_a_persona_that_moved_and_words_that_changed_are_refused(
    world: World, persona: Persona, proposal: Proposal
) -> None:
    amend_persona(persona, actor=world.admin, values={"style": "Formal."})
    with pytest.raises(NeedsRebase):
        approve_parts(proposal, world, "goals")
    propose_sections(persona, actor=world.bot, values={"style": "Terse.", "goals": "Be quicker."})
    with pytest.raises(ReviewedContentChanged):
        approve_parts(proposal, world, "goals")
    assert reload_persona(world, persona).goals == persona.goals
