"""What a yes would reach, on the page of a proposal."""

import pytest
from django.test import Client

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal
from apps.personas.actions import propose_patch
from apps.tenants.actions import amend_agent
from tests.console.review.test_inbox_queues import propose_memory_text, propose_skill_end
from tests.support.drivers.console_client import page_of, page_words
from tests.support.factories.approvals import approve_as_read
from tests.support.worlds.furnished_tenant import make_turn
from tests.support.worlds.world import World, make_block, make_conversation, make_persona, make_skill


def open_proposal(world: World) -> Proposal:
    with acting_as(world.operator):
        return Proposal.objects.visible_to(world.operator).open().get()


def test_a_reviewer_reads_whom_a_yes_reaches_and_what_it_costs(world: World, operator: Client) -> None:
    make_persona(world)
    make_skill(world)
    proposal = open_proposal(world)
    page = page_words(operator.get(page_of(proposal)))
    assert "What a yes reaches by the last 30 days" in page
    assert "Sessions 0 Customers 0" in page
    assert "Conversations that fetched it 0" in page
    assert "The prompt of support" in page
    assert "Skills: new," in page
    assert "Caches write $0.0" in page
    assert "a thousand conversations cost +$" in page
    approve_as_read(proposal, world.operator)
    assert "What a yes reaches" not in page_words(operator.get(page_of(proposal)))


def test_what_goes_costs_less(world: World, operator: Client) -> None:
    make_persona(world)
    propose_skill_end(world)
    page = page_words(operator.get(page_of(open_proposal(world))))
    assert "Skills: gone," in page
    assert "a thousand conversations cost -$" in page


def test_what_no_prompt_carries_says_so(world: World, operator: Client) -> None:
    propose_memory_text(make_block(world, is_pinned=False), world)
    assert "Not a byte of it changes" in page_words(operator.get(page_of(open_proposal(world))))


@pytest.mark.slow
def test_a_model_without_a_price_and_a_bare_agent_are_told_as_such(world: World, operator: Client) -> None:
    propose_memory_text(make_block(world, is_pinned=True), world)
    amend_agent(world.agent, actor=world.admin, model="somebody-elses")
    assert "Its model has no price here" in page_words(operator.get(page_of(open_proposal(world))))
    amend_agent(world.agent, actor=world.admin, model="claude-haiku-4-5")
    assert "tokens to the length from which its model caches" in page_words(operator.get(page_of(open_proposal(world))))
    amend_agent(world.agent, actor=world.admin, has_learning=False)
    assert "Agent support does not learn" in page_words(operator.get(page_of(open_proposal(world))))


def test_free_text_says_whom_it_reaches_before_a_reviewer_wrote_the_words(world: World, operator: Client) -> None:
    make_turn(world, make_conversation(world))
    patch = propose_patch(make_persona(world), actor=world.bot, text="Say hello first.")
    shown = page_words(operator.get(page_of(patch)))
    assert "What a yes reaches by the last 30 days Agents 1 Sessions 1 Customers 1" in shown
    assert (
        "Which bytes of the prompt change, and what that costs, is told of a proposal whose words are written." in shown
    )
    assert "Not a byte of it changes" not in shown
