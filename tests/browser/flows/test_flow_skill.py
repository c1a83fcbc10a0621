"""From a conversation to a skill in the next session, with every decision made in a real browser."""

import pytest
from playwright.sync_api import Page, expect

from apps.conversations.models import Conversation
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal
from apps.learning.extraction.models import Extraction
from apps.skills.models import Skill
from tests.browser.pages.test_console import sign_in_by_form
from tests.support.drivers.browser_steps import assert_no_flaws, request_prefix, visit
from tests.support.drivers.console_client import list_of, page_of
from tests.support.drivers.conversation import prompt, reply, tool
from tests.support.drivers.live_product import BrowserFlow, wait_for
from tests.support.worlds.world import World, make_persona, make_world

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def make_solved_conversation(flow: BrowserFlow, world: World) -> Conversation:
    """A customer's matter, settled in two turns and with a tool."""
    noted = tool("update_customer_profile", preferences="Prefers email.")
    flow.standin.play(reply("I am sorry. How may we reach you?"), noted, reply("I have noted that we write by email."))
    flow.say(world, "My parcel arrived broken, I want a refund.", thread="solved", customer="http:ann")
    return flow.say(world, "By email, please.", thread="solved", customer="http:ann").conversation


def find_drafted_skill(world: World, conversation: Conversation) -> Skill | None:
    """What a worker has made of it by now."""
    with acting_as(world.operator):
        found = Extraction.objects.filter(conversation=conversation).first()
        if found is None:
            return None
        assert found.verdict == Extraction.Verdict.DRAFTED, found.reason
        return Skill.objects.visible_to(world.operator).drafts().get(pk=str(found.skill_id))


def test_a_solved_conversation_becomes_a_skill_of_the_next_session_and_of_no_running_one(flow: BrowserFlow) -> None:
    """Told by REST, answered and extracted by a worker; resolved, found in the inbox and approved by page.

    The model's next session lists the skill; what was open before goes on with the bytes it began with.
    """
    # R043, R062, R108, R115
    page, world = flow.page, make_world("flow-skill")
    make_persona(world)
    conversation = make_solved_conversation(flow, world)
    flow.say(world, "Are you open today?", thread="running", customer="http:ben")
    begun = flow.standin.requests()[-1]
    sign_in_by_form(page, world)
    assert_no_flaws(page)
    visit(page, page_of(conversation))
    page.locator("summary", has_text="Resolve").click()
    page.get_by_role("button", name="Resolve", exact=True).click()
    expect(page.get_by_text("Resolved. What can be learned from it")).to_be_visible()
    assert_no_flaws(page)
    skill = wait_for(lambda: find_drafted_skill(world, conversation), "a draft")
    approve_from_the_inbox(page, skill)
    with acting_as(world.operator):
        assert Skill.objects.get(pk=skill.pk).status == Skill.Status.APPROVED
    listed = f"- {skill.name} (id: {skill.pk})"
    flow.say(world, "And tomorrow?", thread="running", customer="http:ben")
    running = flow.standin.requests()[-1]
    flow.say(world, "Hello, my parcel is broken.", thread="next", customer="http:cleo")
    assert request_prefix(running) == request_prefix(begun)
    assert listed not in prompt(running)
    assert listed in prompt(flow.standin.requests()[-1])


def approve_from_the_inbox(page: Page, skill: Skill) -> None:
    visit(page, list_of(Proposal))
    page.get_by_role("link", name=skill.name).first.click()
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_visible()
    assert_no_flaws(page)
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_text("Applied. You can undo it for a minute.")).to_be_visible()
    assert_no_flaws(page)
