"""Two reviewers in a real browser: neither alone makes a change of high risk live."""

import pytest
from playwright.sync_api import Page, expect

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal
from apps.personas.actions import propose_sections
from apps.personas.models import Persona
from tests.browser.conftest import SCREENSHOTS, BrowserConsole
from tests.browser.pages.test_console import sign_in
from tests.support.drivers.accessibility import accessibility_flaws, take_picture
from tests.support.drivers.console_client import list_of, page_of

pytestmark = pytest.mark.browser


def test_high_tier_takes_two_people_and_is_undone_within_a_minute(page: Page, console: BrowserConsole) -> None:
    world = console.full
    with acting_as(world.operator):
        persona = Persona.objects.visible_to(world.operator).get(agent=world.agent)
    before = persona.avoid
    text = f"{before}\nNever name a carrier."
    proposal = propose_sections(persona, actor=world.bot, values={"avoid": text}, rationale="Customers were upset.")
    sign_in(page, world)
    page.goto(page_of(proposal))
    expect(page.get_by_text("It takes two reviewers who neither proposed nor edited the words.")).to_be_visible()
    page.get_by_role("button", name="Approve", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("it takes one more reviewer who neither proposed nor edited it")).to_be_visible()
    page.goto(f"{list_of(Proposal)}?tab=second")
    expect(page.get_by_role("link", name="Persona sections for agent support")).to_be_visible()
    take_picture(page, SCREENSHOTS / "full-light" / "second-reviewer.png")
    found = accessibility_flaws(page, "second reviewer")
    page.context.clear_cookies()
    sign_in(page, world, admin=True)
    page.goto(page_of(proposal))
    expect(page.get_by_text("Needs one more reviewer.")).to_be_visible()
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_text("Applied. You can undo it for a minute.")).to_be_visible()
    found += accessibility_flaws(page, "applied")
    with acting_as(world.operator):
        assert Persona.objects.get(pk=persona.pk).avoid == text
    page.get_by_role("button", name="Undo").first.click()
    expect(page.get_by_text("Undone. The version before is live again")).to_be_visible()
    with acting_as(world.operator):
        assert Persona.objects.get(pk=persona.pk).avoid == before
        assert Proposal.objects.get(pk=proposal.pk).state == Proposal.State.OPEN
    assert found == []
