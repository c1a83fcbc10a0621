"""What every kind of proposal says a yes would change for customers."""

from collections.abc import Callable, Mapping

import pytest

from apps.governance.database.actor_transaction import acting
from apps.governance.models import Proposal, Taint
from apps.memory.models import AgentMemory, MemoryBlock
from apps.memory.write_holds import Share, hold_back, propose_profile
from apps.personas.actions import propose_patch, propose_rule_change, propose_rules, propose_sections
from apps.prompt.memory_lines.write_holds import HeldLine
from apps.prompt.text_reuse.derived_lines import Whose
from apps.review.impact_summary import consequence_of
from apps.skills.proposals import propose_deprecation, propose_revision
from apps.tenants.models import TenantSettings
from tests.support.factories.approvals import say_yes
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

WHOLE = Share("", Taint.AGENT, whole="They like tea.\nThey like milk.")
LINES = Share("", Taint.AGENT, (HeldLine("They like tea.", Whose.CUSTOMER),), ("We ship to the EU only.",))
pytestmark = pytest.mark.django_db
Kind = Proposal.Kind


@pytest.fixture
def world() -> World:
    return make_world()


def held(row: AgentMemory | MemoryBlock, share: Share, world: World) -> Proposal:
    with acting(world.bot):
        proposal = hold_back(row, share, actor=world.bot, evidence=None)
    assert proposal is not None
    return proposal


def read(proposal: Proposal, world: World) -> str:
    with acting(world.operator):
        return consequence_of(Proposal.objects.visible_to(world.operator).get(pk=proposal.pk))


def of_a_new_skill(world: World) -> Proposal:
    draft = make_skill(world, name="greet")
    with acting(world.operator):
        return Proposal.objects.visible_to(world.operator).about(draft).get()


def of_settings(world: World) -> TenantSettings:
    with acting(world.operator):
        return TenantSettings.objects.visible_to(world.operator).get()


SAID: Mapping[Kind, tuple[Callable[[World], Proposal], str]] = {
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
    Kind.SKILL_NEW: (of_a_new_skill, "Agent support can look up “greet” for every customer."),
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
        "Agent support no longer finds “greet” for any customer, for good.",
    ),
    Kind.MEMORY_LINES: (
        lambda world: held(make_memory(world), LINES, world),
        "Agent support remembers 1 more line and 1 line less with every customer.",
    ),
    Kind.MEMORY_BODY: (
        lambda world: held(make_memory(world), WHOLE, world),
        "Agent support remembers 2 more lines and 1 line less with every customer.",
    ),
    Kind.BLOCK_LINES: (
        lambda world: held(make_block(world), LINES, world),
        "Agent support has 1 more line and 1 line less in its block “BusinessFacts”, with every customer while it is pinned.",
    ),
    Kind.BLOCK_BODY: (
        lambda world: held(make_block(world), WHOLE, world),
        "Agent support has 2 more lines and 1 line less in its block “BusinessFacts”, with every customer while it is pinned.",
    ),
    Kind.PROFILE_CHANGE: (
        lambda world: propose_profile(make_profile(world), {"notes": "Has a dog."}, actor=world.bot, evidence=None),
        "Agent support goes by other notes of one customer; for everybody else nothing changes.",
    ),
    Kind.RULE_LINES: (
        lambda world: propose_rules(world.agent, actor=world.bot, lines=["Be brief.", "Be kind."]),
        "Agent support keeps 2 more rules with every customer.",
    ),
    Kind.RULE_CHANGE: (
        lambda world: propose_rule_change(make_rule(world), actor=world.bot, text="Never name a rival."),
        "The rule reads otherwise in every conversation that it holds in.",
    ),
}


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_says_what_a_yes_changes_and_for_whom(world: World, kind: Kind) -> None:
    propose, sentence = SAID[kind]
    proposal = propose(world)
    assert (proposal.kind, read(proposal, world)) == (kind, sentence)


def test_what_holds_for_the_organisation_says_every_agent(world: World) -> None:
    by_an_agent = propose_rules(of_settings(world), actor=world.bot, lines=["Be brief."])
    assert read(by_an_agent, world) == "Every agent keeps 1 more rule with every customer."


def test_a_patch_that_a_reviewer_put_into_words_names_their_sections(world: World) -> None:
    persona = make_persona(world)
    patch = propose_patch(persona, actor=world.bot, text="Be quick.")
    say_yes(patch, world.operator, {"goals": "Be quick.", "style": persona.style})
    assert read(patch, world) == "Agent support answers every customer with its persona changed: goals."
