"""What a yes would reach is what it then does: every kind of proposal, compared with the prompt after it."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Governed, Proposal, Taint
from apps.governance.proposals.approval_rules import ProposedOutcome
from apps.memory.write_holds import MemoryReviewSplit, hold_for_review, propose_profile
from apps.personas.models import Persona
from apps.prompt.memory_lines.write_holds import HeldLine
from apps.prompt.prompt_diff import diff_prompt_sizes
from apps.prompt.prompt_input import Slot
from apps.prompt.rendering.segments import PromptSnapshot
from apps.prompt.rendering.snapshot import render_snapshot
from apps.prompt.text_reuse.derived_lines import RepeatedSource
from apps.review.proposal_submission import submit_proposal
from apps.review.review_sheet import read_review_sheet
from apps.runtime.explain.impact import Impact, ImpactCost, impact_of
from apps.runtime.prompt_snapshot.prompt_input_builder import read_prompt_input
from apps.skills.proposals import propose_deprecation, propose_revision
from apps.tenants.actions import amend_agent
from apps.tenants.models import TenantSettings
from tests.support.drivers.conversation import reply, run_customer_turn, tool
from tests.support.factories.approvals import approve_as_read
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import (
    World,
    make_block,
    make_invokable,
    make_memory,
    make_neighbour,
    make_persona,
    make_profile,
    make_rule,
    make_skill,
    make_world,
)

pytestmark = pytest.mark.django_db
Kind = Proposal.Kind
CUSTOMER = "http:abc123"
SLOTS: Mapping[Kind, Slot | None] = {
    Kind.PERSONA_FIELDS: Slot.PERSONA,
    Kind.SKILL_NEW: Slot.SKILLS,
    Kind.SKILL_REVISION: Slot.SKILLS,
    Kind.SKILL_DEPRECATION: Slot.SKILLS,
    Kind.MEMORY_LINES: Slot.MEMORY,
    Kind.MEMORY_BODY: Slot.MEMORY,
    Kind.BLOCK_LINES: Slot.MEMORY,
    Kind.BLOCK_BODY: Slot.MEMORY,
    Kind.PROFILE_CHANGE: Slot.PROFILE,
    Kind.RULE_LINES: Slot.CONTRACT,
    Kind.RULE_CHANGE: Slot.CONTRACT,
}


@pytest.fixture
def world() -> World:
    world = make_world()
    make_persona(world)
    make_skill(world, "approved", name="stands-there")
    return world


def hold_share(world: World, row: Any, share: MemoryReviewSplit) -> None:
    with acting_as(world.bot):
        hold_for_review(row, share, actor=world.bot, evidence=None)


def propose_change(world: World, kind: Kind, row: Governed, **content: object) -> None:
    submit_proposal(kind, row.pk, actor=world.bot, content=content, taint=Taint.AGENT, rationale="It helps.")


def lines(*texts: str) -> MemoryReviewSplit:
    return MemoryReviewSplit("", Taint.CUSTOMER, lines=tuple(HeldLine(text, RepeatedSource.CUSTOMER) for text in texts))


def whole_share(text: str) -> MemoryReviewSplit:
    return MemoryReviewSplit("", Taint.AGENT, whole=text)


PROPOSAL_MAKERS: Mapping[Kind, Callable[[World], object]] = {
    Kind.PERSONA_FIELDS: lambda world: propose_change(world, Kind.PERSONA_FIELDS, persona_of(world), style="Warm."),
    Kind.SKILL_NEW: make_skill,
    Kind.SKILL_REVISION: lambda world: propose_revision(
        make_skill(world, "approved"), actor=world.bot, values={"description": "How to refund, by the new rules."}
    ),
    Kind.SKILL_DEPRECATION: lambda world: propose_deprecation(
        make_skill(world, "approved"), actor=world.bot, rationale="Nobody asks for it."
    ),
    Kind.MEMORY_LINES: lambda world: hold_share(world, make_memory(world), lines("They like tea.")),
    Kind.MEMORY_BODY: lambda world: hold_share(world, make_memory(world), whole_share("They like tea.")),
    Kind.BLOCK_LINES: lambda world: hold_share(world, make_block(world, is_pinned=True), lines("Open on Mondays.")),
    Kind.BLOCK_BODY: lambda world: hold_share(
        world, make_block(world, is_pinned=True), whole_share("Open on Mondays.")
    ),
    Kind.PROFILE_CHANGE: lambda world: propose_profile(
        make_profile(world, CUSTOMER), {"notes": "Has a dog."}, actor=world.bot, evidence=None
    ),
    Kind.RULE_LINES: lambda world: propose_change(
        world, Kind.RULE_LINES, world.agent, lines=["Never guess.", "Be kind."]
    ),
    Kind.RULE_CHANGE: lambda world: propose_change(
        world, Kind.RULE_CHANGE, make_rule(world), text="Never name a rival."
    ),
}


def persona_of(world: World) -> Governed:
    with acting_as(world.operator):
        return Persona.objects.get(agent=world.agent)


def session_prompt(world: World) -> PromptSnapshot:
    """The prompt of the next session with the customer."""
    return render_snapshot(
        read_prompt_input(world.agent, CUSTOMER, actor=world.operator, system=world.operator, now=timezone.now())
    )


def predict_impact(world: World, kind: Kind) -> tuple[Proposal, Impact]:
    with acting_as(world.operator):
        proposal = Proposal.objects.visible_to(world.operator).open().get(kind=kind)
    return proposal, impact_of(expected_change(proposal, world), actor=world.operator, now=timezone.now())


def expected_change(proposal: Proposal, world: World) -> ProposedOutcome:
    would = read_review_sheet(proposal, actor=world.operator).would
    assert would is not None
    return would


@pytest.mark.parametrize("kind", PROPOSAL_MAKERS)
def test_what_is_foreseen_is_what_a_yes_then_does(world: World, kind: Kind) -> None:
    PROPOSAL_MAKERS[kind](world)
    proposal, reach = predict_impact(world, kind)
    before = session_prompt(world)
    for actor in (world.operator, world.admin):
        if proposal.state == Proposal.State.OPEN:
            approve_as_read(proposal, actor, confirmed="It is fine.")
    assert proposal.state == Proposal.State.APPLIED
    assert reach.prompt == diff_prompt_sizes(before, session_prompt(world))
    assert SLOTS[kind] in {slot.slot for slot in reach.prompt.slots}


def test_a_text_that_no_prompt_carries_changes_no_byte(world: World) -> None:
    block = make_block(world, is_pinned=False)
    hold_share(world, block, whole_share("Open on Mondays."))
    revised = make_skill(world, "approved")
    propose_revision(revised, actor=world.bot, values={"body": "## Procedure\n1. Ask twice."})
    for kind in (Kind.BLOCK_BODY, Kind.SKILL_REVISION):
        _, reach = predict_impact(world, kind)
        assert reach.prompt is not None
        assert (reach.prompt.slots, reach.prompt.rewritten) == ((), 0)
        assert reach.cost is not None
        assert (reach.cost.once, reach.cost.per_thousand) == (0, 0)


@pytest.mark.slow
def test_sessions_customers_schedules_and_callers_are_counted(world: World, standin: StandIn) -> None:
    skill = make_skill(world, "approved")
    amend_agent(world.agent, actor=world.admin, may_edit_skills=True)
    standin.play(
        tool("get_skill", skill_id=skill.pk), reply("One."), tool("skill_view", skill_id=skill.pk), reply("Two.")
    )
    run_customer_turn(world, "One", standin)
    run_customer_turn(world, "Two", standin, thread="other", customer="http:other")
    make_invokable(world)
    propose_deprecation(skill, actor=world.bot, rationale="Nobody asks for it.")
    _, reach = predict_impact(world, Kind.SKILL_DEPRECATION)
    assert (reach.agents, reach.sessions, reach.customers, reach.fetched) == (1, 2, 2, 2)
    assert (reach.schedules, reach.callers, reach.sessions_a_day) == (0, 0, 0.1)
    assert not reach.is_at_the_limit
    assert reach.agent == world.agent
    assert reach.cost is not None
    assert reach.cost.per_thousand < 0


def test_a_rule_of_the_organisation_reaches_every_agent_and_is_shown_on_the_busiest(
    world: World, standin: StandIn
) -> None:
    make_neighbour(world)
    standin.play(reply("One."))
    run_customer_turn(world, "One", standin)
    with acting_as(world.operator):
        row = TenantSettings.objects.get(tenant=world.tenant)
    reach = impact_of(ProposedOutcome(row, {"rules": ["Never guess."]}), actor=world.operator, now=timezone.now())
    assert (reach.agents, reach.sessions, reach.fetched) == (2, 1, None)
    assert reach.agent == world.agent


def test_the_bare_agent_carries_nothing_and_a_model_without_a_price_costs_nobody_knows_what(world: World) -> None:
    make_memory(world)
    would = ProposedOutcome(persona_of(world), {"style": "Warm."})
    amend_agent(world.agent, actor=world.admin, model="somebody-elses")
    unpriced = impact_of(would, actor=world.operator, now=timezone.now())
    assert unpriced.cost is None
    amend_agent(world.agent, actor=world.admin, has_learning=False)
    bare = impact_of(would, actor=world.operator, now=timezone.now())
    assert (bare.prompt, bare.cost, bare.short_of) == (None, None, 0)


def test_a_short_prompt_says_what_it_lacks_to_be_cached(world: World) -> None:
    amend_agent(world.agent, actor=world.admin, model="claude-haiku-4-5")
    make_skill(world)
    _, reach = predict_impact(world, Kind.SKILL_NEW)
    assert reach.prompt is not None
    assert reach.short_of == 4096 + -reach.prompt.shared // 4
    # Nothing is cached, so nothing is written, and each call pays for what comes in: a dollar a million tokens.
    assert reach.cost == ImpactCost(0, round(reach.prompt.added / 4 * 1000))


def test_a_busy_tenant_takes_no_statement_more(world: World, standin: StandIn) -> None:
    make_skill(world)
    with CaptureQueriesContext(connection) as few:
        predict_impact(world, Kind.SKILL_NEW)
    standin.play(*(reply(f"{number}.") for number in range(4)))
    for number in range(4):
        run_customer_turn(world, "Hello", standin, thread=f"{number}", customer=f"http:{number}")
        make_rule(world, f"Rule {number}.")
    with CaptureQueriesContext(connection) as many:
        predict_impact(world, Kind.SKILL_NEW)
    assert len(many) == len(few)
