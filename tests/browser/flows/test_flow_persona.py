"""A change of a persona by two people in a real browser, and what the models of running and new conversations read."""

import pytest
from playwright.sync_api import expect

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal
from apps.personas.actions import propose_sections
from apps.personas.models import Persona
from tests.browser.pages.test_console import sign_in
from tests.support.drivers.browser_steps import assert_no_flaws, request_prefix, visit
from tests.support.drivers.console_client import list_of, page_of
from tests.support.drivers.conversation import prompt
from tests.support.drivers.live_product import BrowserFlow
from tests.support.worlds.world import make_persona, make_world

pytestmark = [pytest.mark.browser, pytest.mark.slow]
ADDED = "Never name a carrier."


def test_a_hard_dont_approved_by_two_people_reaches_new_conversations_and_no_running_one(flow: BrowserFlow) -> None:
    """The agent proposes, two people approve by page, one after the other, and a worker answers what customers write by REST.

    Before, between and after, the running conversation's model is sent the same bytes before the messages.
    """
    # R043, R062
    page, world = flow.page, make_world("flow-persona")
    persona = make_persona(world)
    flow.say(world, "Where is my parcel?", thread="running", customer="http:ann")
    begun = flow.standin.requests()[-1]
    text = f"{persona.avoid}\n{ADDED}"
    proposal = propose_sections(persona, actor=world.bot, values={"avoid": text}, rationale="Customers were upset.")
    sign_in(page, world)
    visit(page, list_of(Proposal))
    page.get_by_role("link", name="Persona sections for agent support").click()
    expect(page.get_by_text("It takes two reviewers who neither proposed nor edited the words.")).to_be_visible()
    assert_no_flaws(page)
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_text("it takes one more reviewer who neither proposed nor edited it")).to_be_visible()
    assert_no_flaws(page)
    flow.say(world, "Hello?", thread="between", customer="http:ben")
    assert ADDED not in prompt(flow.standin.requests()[-1])
    page.context.clear_cookies()
    sign_in(page, world, admin=True)
    visit(page, page_of(proposal))
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_text("Applied. You can undo it for a minute.")).to_be_visible()
    assert_no_flaws(page)
    with acting_as(world.operator):
        assert Persona.objects.get(pk=persona.pk).avoid == text
    flow.say(world, "And when does it come?", thread="running", customer="http:ann")
    assert request_prefix(flow.standin.requests()[-1]) == request_prefix(begun)
    assert ADDED not in prompt(begun)
    flow.say(world, "Hello", thread="new", customer="http:cleo")
    assert ADDED in prompt(flow.standin.requests()[-1])
