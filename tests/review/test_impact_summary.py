"""What every kind of proposal says a yes would change for customers."""

from collections.abc import Callable, Mapping

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal, Taint
from apps.memory.models import AgentMemory, MemoryBlock
from apps.memory.write_holds import MemoryReviewSplit, hold_for_review, propose_profile
from apps.personas.actions import propose_patch, propose_rule_change, propose_rules, propose_sections
from apps.prompt.memory_lines.write_holds import HeldLine
from apps.prompt.text_reuse.derived_lines import RepeatedSource
from apps.review.impact_summary import impact_of
from apps.skills.proposals import propose_deprecation, propose_revision
from apps.tenants.models import TenantSettings
from tests.support.factories.approvals import approve_as_read
from tests.support.worlds.world import (
    World,
    make_block,
    make_memory,
    make_persona,
    make_profile,
    make_rule,
    make_skill,
    make_world,
)

WHOLE_SHARE = MemoryReviewSplit("", Taint.AGENT, whole="They like tea.\nThey like milk.")
LINES_SHARE = MemoryReviewSplit(
    "", Taint.AGENT, (HeldLine("They like tea.", RepeatedSource.CUSTOMER),), ("We ship to the EU only.",)
)
pytestmark = pytest.mark.django_db
Kind = Proposal.Kind


@pytest.fixture
def world() -> World:
    return make_world()


def hold_proposal(row: AgentMemory | MemoryBlock, share: MemoryReviewSplit, world: World) -> Proposal:
    with acting_as(world.bot):
        proposal = hold_for_review(row, share, actor=world.bot, evidence=None)
    assert proposal is not None
    return proposal


def consequence_text(proposal: Proposal, world: World) -> str:
    with acting_as(world.operator):
        return impact_of(Proposal.objects.visible_to(world.operator).get(pk=proposal.pk))


def propose_new_skill(world: World) -> Proposal:
    draft = make_skill(world, name="greet")
    with acting_as(world.operator):
        return Proposal.objects.visible_to(world.operator).about(draft).get()


def tenant_settings(world: World) -> TenantSettings:
    with acting_as(world.operator):
        return TenantSettings.objects.visible_to(world.operator).get()


EXPECTED_SUMMARIES: Mapping[Kind, tuple[Callable[[World], Proposal], str]] = {
    Kind.PERSONA_PATCH: (
        lambda world: propose_patch(make_persona(world), actor=world.bot, text="Say sorry first."),
        "Agent support answers every customer with its persona changed, in the words you write.",
    ),
    Kind.PERSONA_FIELDS: (
        lambda world: propose_sections(
            make_persona(world), actor=world.bot, values={"goals": "Be quick.", "style": "Brief.", "avoid": "Slang."}
        ),
        "Agent support answers every customer with its persona changed: style, avoid and goals.",
    ),
    Kind.SKILL_NEW: (propose_new_skill, "Agent support can look up “greet” for every customer."),
    Kind.SKILL_REVISION: (
        lambda world: propose_revision(
            make_skill(world, "approved", name="greet"), actor=world.bot, values={"body": "Say hello."}
        ),
        "Agent support finds the body of “greet” changed whenever it looks it up.",
    ),
    Kind.SKILL_DEPRECATION: (
        lambda world: propose_deprecation(
            make_skill(world, "approved", name="greet"), actor=world.bot, rationale="Nobody asks for it."
        ),
        "Agent support no longer finds “greet” for any customer.",
    ),
    Kind.MEMORY_LINES: (
        lambda world: hold_proposal(make_memory(world), LINES_SHARE, world),
        "Agent support remembers 1 more line and 1 fewer line with every customer.",
    ),
    Kind.MEMORY_BODY: (
        lambda world: hold_proposal(make_memory(world), WHOLE_SHARE, world),
        "Agent support remembers 2 more lines and 1 fewer line with every customer.",
    ),
    Kind.BLOCK_LINES: (
        lambda world: hold_proposal(make_block(world), LINES_SHARE, world),
        "Agent support has 1 more line and 1 fewer line in its block “BusinessFacts”, with every customer while it is pinned.",
    ),
    Kind.BLOCK_BODY: (
        lambda world: hold_proposal(make_block(world), WHOLE_SHARE, world),
        "Agent support has 2 more lines and 1 fewer line in its block “BusinessFacts”, with every customer while it is pinned.",
    ),
    Kind.PROFILE_CHANGE: (
        lambda world: propose_profile(make_profile(world), {"notes": "Has a dog."}, actor=world.bot, evidence=None),
        "Agent support uses other notes for one customer; nothing changes for everybody else.",
    ),
    Kind.RULE_LINES: (
        lambda world: propose_rules(world.agent, actor=world.bot, lines=["Be brief.", "Be kind."]),
        "Agent support follows 2 more rules with every customer.",
    ),
    Kind.RULE_CHANGE: (
        lambda world: propose_rule_change(make_rule(world), actor=world.bot, text="Never name a rival."),
        "The rule changes in every conversation to which it applies.",
    ),
}


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_says_what_a_yes_changes_and_for_whom(world: World, kind: Kind) -> None:
    propose, sentence = EXPECTED_SUMMARIES[kind]
    proposal = propose(world)
    assert (proposal.kind, consequence_text(proposal, world)) == (kind, sentence)


def test_what_holds_for_the_organisation_says_every_agent(world: World) -> None:
    by_an_agent = propose_rules(tenant_settings(world), actor=world.bot, lines=["Be brief."])
    assert consequence_text(by_an_agent, world) == "Every agent follows 1 more rule with every customer."


def test_a_patch_that_a_reviewer_put_into_words_names_their_sections(world: World) -> None:
    persona = make_persona(world)
    patch = propose_patch(persona, actor=world.bot, text="Be quick.")
    approve_as_read(patch, world.operator, {"goals": "Be quick.", "style": persona.style})
    assert consequence_text(patch, world) == "Agent support answers every customer with its persona changed: goals."
