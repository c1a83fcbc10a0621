"""What a queue without proposals says, and how long and for whom the others wait."""

from collections.abc import Callable, Mapping

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.console.framework.row_titles import format_moment
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Governed, Proposal, Taint
from apps.governance.proposals.actions import claim_proposal, reject_proposal
from apps.memory.models import AgentMemory, CustomerProfile, MemoryBlock
from apps.memory.write_holds import MemoryReviewSplit, hold_for_review, propose_profile
from apps.personas.actions import propose_patch, propose_rule_change, propose_rules, propose_sections
from apps.personas.models import Persona
from apps.review.decisions import expire
from apps.skills.models import Skill
from apps.skills.proposals import propose_deprecation, propose_revision
from apps.tenants.models import TenantSettings
from tests.support.drivers.console_client import list_of, page_of, page_text, page_words
from tests.support.factories.expired_proposals import let_run_out
from tests.support.worlds.world import (
    World,
    make_block,
    make_conversation,
    make_memory,
    make_persona,
    make_profile,
    make_rule,
    make_skill,
)

INBOX = list_of(Proposal)
HUNDRED, MOST_READS = 100, 12
Kind = Proposal.Kind


def propose_memory_text(row: AgentMemory | MemoryBlock, world: World) -> AgentMemory | MemoryBlock:
    with acting_as(world.bot):
        hold_for_review(row, MemoryReviewSplit("", Taint.AGENT, whole="They like tea."), actor=world.bot, evidence=None)
    return row


def propose_persona_text(world: World) -> Persona:
    persona = make_persona(world)
    propose_patch(persona, actor=world.bot, text="Say hello first.")
    return persona


def propose_skill_end(world: World) -> Skill:
    skill = make_skill(world, "approved")
    propose_deprecation(skill, actor=world.bot, rationale="Nobody asks for it.")
    return skill


def propose_profile_note(world: World) -> CustomerProfile:
    profile = make_profile(world)
    propose_profile(profile, {"notes": "Has a dog."}, actor=world.bot, evidence=None)
    return profile


PROPOSAL_MAKERS: Mapping[str, Callable[[World], tuple[Governed, Kind]]] = {
    "persona": lambda world: (propose_persona_text(world), Kind.PERSONA_PATCH),
    "skill": lambda world: (propose_skill_end(world), Kind.SKILL_DEPRECATION),
    "memory": lambda world: (propose_memory_text(make_memory(world), world), Kind.MEMORY_BODY),
    "block": lambda world: (propose_memory_text(make_block(world), world), Kind.BLOCK_BODY),
    "profile": lambda world: (propose_profile_note(world), Kind.PROFILE_CHANGE),
}


def settings_of(world: World) -> TenantSettings:
    with acting_as(world.operator):
        return TenantSettings.objects.visible_to(world.operator).get()


def submission_of(skill: Skill, world: World) -> Proposal:
    with acting_as(world.operator):
        return Proposal.objects.visible_to(world.operator).about(skill).get()


def inbox_text(client: Client, query: str = "") -> str:
    return page_words(client.get(f"{INBOX}{query}"))


def expire_proposal(proposal: Proposal, actor: Actor) -> None:
    """Let the time of a proposal be over, and the sweep find it."""
    with acting_as(actor), connection.cursor() as cursor:
        late = "UPDATE governance_proposal SET expires_at = now() - interval '1 second' WHERE id = %s"
        cursor.execute(late, [proposal.pk])
    expire(proposal.tenant_id, proposal.pk)


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("", "Nothing waits. Drafts of skills come when"),
        ("?kind=other", "Nothing waits. Drafts of skills come when"),
        ("?kind=skill.new", "Nothing waits. Drafts of skills come when"),
        ("?tab=snoozed", "Nothing is put off."),
        ("?tab=needs_second_reviewer", "Nothing waits for a second reviewer."),
        ("?tab=decided", "Nothing has been decided yet."),
        ("?tab=expired&kind=other", "Nothing has expired."),
        ("?tab=quarantined", "Nothing is held apart."),
    ],
)
def test_an_empty_queue_says_what_it_is_for(operator: Client, query: str, says: str) -> None:
    page = inbox_text(operator, query)
    assert says in page
    assert "Nothing matches." not in page


@pytest.mark.parametrize("query", ["?q=parcel", "?kind=rule.lines", "?kind=other&risk=low", "?claim=mine"])
def test_a_search_that_finds_nothing_says_so(operator: Client, query: str) -> None:
    page = inbox_text(operator, query)
    assert "Nothing matches. Show all" in page
    assert "Nothing waits." not in page


def test_what_expired_waits_no_longer_and_nobody_decided(world: World, operator: Client) -> None:
    skill = make_skill(world, "approved", name="greet")
    proposal = propose_revision(skill, actor=world.bot, values={"body": "Say hello."})
    assert "for less than a minute" in inbox_text(operator, "?kind=other")
    expire_proposal(proposal, world.operator)
    page = inbox_text(operator, "?tab=expired")
    assert "Skill revision for greet" in page
    assert " expired on " in page
    with acting_as(world.operator):
        proposal.refresh_from_db()
    assert f" Expired {format_moment(proposal.decided_at)} " in page_words(operator.get(page_of(proposal)))


def test_what_has_run_out_of_time_is_expired_on_every_page_before_the_sweep(world: World, operator: Client) -> None:
    skill = make_skill(world, "approved", name="greet")
    proposal = propose_revision(skill, actor=world.bot, values={"body": "Say hello."})
    let_run_out(proposal, world)
    page = page_words(operator.get(page_of(proposal)))
    assert f" Expired {format_moment(proposal.expires_at)} " in page
    assert " expired " in page
    assert "takes effect, signed by you" not in page
    inbox = inbox_text(operator)
    assert "Waiting 0" in inbox
    assert "Expired 1" in inbox
    listed = inbox_text(operator, "?tab=expired")
    assert f" expired on {format_moment(proposal.expires_at)}" in listed
    assert 'name="row"' not in page_text(operator.get(f"{INBOX}?tab=expired"))
    assert page_of(proposal) not in page_text(operator.get(page_of(skill)))
    assert "Reviews in all" not in page_words(operator.get(reverse("admin:index")))
    assert f'"{proposal.pk}"' not in page_text(operator.get(reverse("admin:playground")))
    found = page_words(operator.get(reverse("admin:search"), {"q": "greet", "tab": "proposals"}))
    assert "Skill revision for greet Expired" in found


def test_what_is_proposed_for_a_memory_is_called_by_its_agent(world: World, operator: Client) -> None:
    memory = make_memory(world)
    propose_memory_text(memory, world)
    page = inbox_text(operator)
    assert "Memory of agent support" in page
    assert f"agent {world.agent.pk} " not in page


def test_a_rule_is_called_by_its_first_words(world: World, operator: Client) -> None:
    rule = make_rule(world, f"Never name a rival. {'Be kind. ' * 20}")
    proposal = propose_rule_change(rule, actor=world.operator, text="Name no rival.")
    for page in (INBOX, page_of(rule), page_of(proposal)):
        assert "“Never name a rival. Be kind." in page_words(operator.get(page))
    assert "Change of a rule for “Never name a rival. Be kind." in inbox_text(operator)


@pytest.mark.parametrize("noun", ["persona", "skill", "memory", "block", "profile"])
def test_a_page_leads_to_what_waits_about_it(world: World, operator: Client, noun: str) -> None:
    row, kind = PROPOSAL_MAKERS[noun](world)
    with acting_as(world.operator):
        proposal = Proposal.objects.visible_to(world.operator).about(row).get(kind=kind)
    link = f'<a href="{page_of(proposal)}">'
    assert link in page_text(operator.get(page_of(row)))
    reject_proposal(proposal, actor=world.operator, reason="No.")
    assert link not in page_text(operator.get(page_of(row)))


def test_a_yes_to_a_deprecation_is_not_said_to_make_anything_live(world: World, operator: Client) -> None:
    proposal = propose_deprecation(make_skill(world, "approved"), actor=world.bot, rationale="Nobody asks for it.")
    page = page_words(operator.get(page_of(proposal)))
    assert "What is proposed takes effect, signed by you" in page
    assert "Reaches nothing new: it takes something away." in page
    assert "becomes live" not in page


def test_a_row_says_what_a_yes_changes_and_what_speaks_for_it(world: World, operator: Client) -> None:
    evidence = {"conversation_id": make_conversation(world).pk}
    persona = make_persona(world)
    for _ in range(2):
        proposal = propose_sections(persona, actor=world.bot, values={"style": "Brief."}, evidence=evidence)
    sentence = "Agent support answers every customer with its persona changed: style."
    texts = "Style, now: Warm and concise. Proposed: Brief."
    page = inbox_text(operator)
    assert f"{sentence} {texts} elevated open for less than a minute unchanged 1 conversation agent support" in page
    propose_sections(persona, actor=world.bot, values={"style": "Brief."})
    assert "1 conversation, asked for 2 times agent support" in inbox_text(operator)
    assert f"{sentence} The next session of the agent carries it" in page_words(operator.get(page_of(proposal)))


@pytest.mark.slow
def test_a_hundred_rows_of_every_kind_take_few_reads(world: World, operator: Client) -> None:
    # R014
    for noun in PROPOSAL_MAKERS.values():
        noun(world)
    propose_rules(world.agent, actor=world.bot, lines=["Be brief."])
    propose_rules(settings_of(world), actor=world.operator, lines=["Be kind."])
    propose_rule_change(make_rule(world), actor=world.operator, text="Never name a rival.")
    for number in range(HUNDRED):
        skill = make_skill(world, name=f"skill-{number}", actor=world.operator)
        claim_proposal(submission_of(skill, world), actor=(world.operator, world.admin)[number % 2])
    operator.get(INBOX)
    with CaptureQueriesContext(connection) as caught:
        page = inbox_text(operator, "?all=")
    assert page.count("can look up “skill-") == HUNDRED
    reads = [each["sql"] for each in caught if " FROM " in each["sql"]]
    assert len(reads) <= MOST_READS, "\n".join(reads)
