"""The inbox by keyboard alone, in a real browser: what a key leads to, how many it takes, and when none counts."""

import pytest
from playwright.sync_api import Browser, Page, expect

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal
from apps.skills.proposals import propose_deprecation, propose_revision
from tests.browser.conftest import SCREENSHOTS, BrowserConsole
from tests.browser.pages.test_console import sign_in
from tests.support.drivers.accessibility import accessibility_flaws, take_picture
from tests.support.drivers.browser_steps import go_by_shortcut
from tests.support.drivers.console_client import list_of
from tests.support.worlds.world import World, make_persona, make_skill, make_world

pytestmark = pytest.mark.browser
INBOX = list_of(Proposal)
MIXED = 20
# By the state they lead to: the keys of one decision.
APPROVE, REJECT, LATER = ("a", "Enter"), ("r", "2", "Control+Enter"), ("s", "Control+Enter")


def make_filled_inbox(key: str) -> World:
    """A tenant in whose inbox twenty proposals of three kinds wait."""
    world = make_world(key)
    make_persona(world)
    for number in range(MIXED):
        skill = make_skill(world, "draft" if number % 4 < 2 else "approved", name=f"skill-{number}")
        if number % 4 == 2:
            propose_revision(skill, actor=world.bot, values={"body": f"## Procedure\n1. Ask {number} times."})
        if number % 4 == 3:
            propose_deprecation(skill, actor=world.bot, rationale="Nobody asks for it.")
    return world


def press_keys(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def states(world: World) -> dict[str, int]:
    with acting_as(world.operator):
        rows = list(Proposal.objects.visible_to(world.operator))
    found = [("put off" if row.snoozed_until else row.state) for row in rows]
    return {state: found.count(state) for state in sorted(set(found))}


def test_twenty_proposals_take_three_keys_and_one_load_each(page: Page, console: BrowserConsole) -> None:
    world = make_filled_inbox("keys")
    before = states(world)
    sign_in(page, world)
    go_by_shortcut(page, "i", f"**{INBOX}")
    press_keys(page, "j", "j", "k", "Enter")
    page.wait_for_url("**/change/**")
    loads: list[str] = []
    page.on("domcontentloaded", lambda opened: loads.append(opened.url))
    for number in range(MIXED):
        keys = (APPROVE, REJECT, LATER)[number % 3]
        assert len(keys) <= 3
        with page.expect_navigation(wait_until="load"):
            press_keys(page, *keys)
        expect(page.locator("#pc-keys")).to_be_attached()
    assert len(loads) == MIXED
    # Nothing waits any more, so the last one led back to the list.
    expect(page).to_have_url(f"{console.url}{INBOX}")
    after = states(world)
    assert (after["applied"] - before["applied"], after["rejected"], after["put off"]) == (7, 7, 6)


def test_letters_are_text_where_one_types_and_escape_closes_a_form(page: Page, console: BrowserConsole) -> None:
    world = make_filled_inbox("typing")
    sign_in(page, world)
    page.goto(INBOX)
    press_keys(page, "/")
    page.keyboard.type("gar?")
    expect(page.get_by_role("searchbox").or_(page.locator("#searchbar"))).to_have_value("gar?")
    page.goto(INBOX)
    press_keys(page, "j", "Enter")
    page.wait_for_url("**/change/**")
    press_keys(page, "w")
    page.keyboard.type("a e r u")
    expect(page.locator("details.pc-decision[open] textarea")).to_have_value("a e r u")
    press_keys(page, "Escape")
    expect(page.locator("details.pc-decision[open]")).to_have_count(0)
    press_keys(page, "?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    assert accessibility_flaws(page, "keys") == []
    take_picture(page, SCREENSHOTS / "keys.png")
    # The page beneath hears nothing while the sheet is open.
    press_keys(page, "a", "Escape")
    expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()
    assert set(states(world)) == {"applied", "open"}


def test_undo_is_a_key_away(page: Page, console: BrowserConsole) -> None:
    world = make_filled_inbox("undoing")
    sign_in(page, world)
    # A retirement has no way back.
    page.goto(f"{INBOX}?kind=skill.new")
    before = states(world)
    press_keys(page, "j", "Enter")
    page.wait_for_url("**/change/**")
    with page.expect_navigation(wait_until="load"):
        press_keys(page, *APPROVE)
    with page.expect_navigation(wait_until="load"):
        press_keys(page, "u", "Enter")
    assert states(world) == before


def test_without_a_script_no_key_is_promised(chromium: Browser, console: BrowserConsole) -> None:
    with chromium.new_context(java_script_enabled=False, base_url=console.url) as context:
        page = context.new_page()
        world = make_filled_inbox("plain")
        sign_in(page, world)
        page.goto(INBOX)
        page.locator("#result_list").get_by_role("link", name="New skill").first.click()
        expect(page.get_by_role("button", name="Approve", exact=True)).to_be_visible()
        expect(page.locator(".pc-kbd").first).to_be_hidden()
        expect(page.locator("#pc-keys")).to_be_hidden()
