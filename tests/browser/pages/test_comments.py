"""A comment by keyboard alone, in a real browser, beside the decision, light and dark, wide and narrow."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SCREENSHOTS, BrowserConsole
from tests.browser.pages.test_console import sign_in
from tests.support.drivers.accessibility import flaws_in_widths
from tests.support.drivers.console_client import page_of
from tests.support.factories.comments import make_comment, make_proposal
from tests.support.worlds.world import make_world

pytestmark = pytest.mark.browser


def test_a_comment_is_said_and_withdrawn_by_keys(page: Page, console: BrowserConsole) -> None:
    world = make_world("talking")
    proposal = make_proposal(world)
    make_comment(
        world, "## Before you decide\n\nFinance has to agree, see `refunds`:\n\n- who asks\n- how much", on=proposal
    )
    sign_in(page, world)
    page.goto(page_of(proposal))
    page.keyboard.press("m")
    expect(page.locator("#comment_text")).to_be_focused()
    page.keyboard.type("They said **yes**.")
    with page.expect_navigation(wait_until="load"):
        page.keyboard.press("Control+Enter")
    expect(page.locator("#comments strong", has_text="yes")).to_be_visible()
    assert flaws_in_widths(page, "comments", SCREENSHOTS / "comments") == []
    theirs = page.locator("#comments li", has_text="They said")
    theirs.locator("summary").press("Enter")
    with page.expect_navigation(wait_until="load"):
        theirs.get_by_role("button", name="Withdraw this comment").press("Enter")
    expect(page.locator("#comments", has_text="Withdrawn by its author")).to_be_visible()
    expect(page.get_by_text("They said")).to_have_count(0)
