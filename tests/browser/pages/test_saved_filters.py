"""A filter of the inbox is saved, opened and deleted in a browser: by keys, light and dark, wide and narrow, and plainly."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from apps.governance.models import Proposal
from tests.browser.conftest import SCREENSHOTS, BrowserConsole
from tests.browser.pages.test_console import sign_in
from tests.support.drivers.accessibility import UNFOLD, flaws_in_widths, take_picture
from tests.support.drivers.console_client import list_of
from tests.support.factories.comments import make_proposal
from tests.support.factories.saved_filters import HIGH_RISK_QUERY, make_filter
from tests.support.worlds.world import make_world

pytestmark = pytest.mark.browser
INBOX = list_of(Proposal)


def test_a_filter_is_saved_and_opened_by_keys(page: Page, console: BrowserConsole) -> None:
    world = make_world("filtering")
    make_proposal(world)
    make_filter(world, "What takes two of us and is older than the longest weekend", actor=world.admin)
    sign_in(page, world)
    page.goto(f"{INBOX}?tab=all&{HIGH_RISK_QUERY}")
    page.locator("summary", has_text="Save this filter").press("Enter")
    page.get_by_label("Name").fill("High tier")
    page.get_by_label("Share it with the tenant").press("Space")
    with page.expect_navigation(wait_until="load"):
        page.get_by_label("Name").press("Enter")
    expect(page.get_by_text("Saved. “High tier” is now above the inbox.")).to_be_visible()
    page.goto(INBOX)
    page.get_by_role("link", name="High tier").press("Enter")
    expect(page).to_have_url(re.compile(re.escape(f"{INBOX}?{HIGH_RISK_QUERY}&tab=all")))
    expect(page.get_by_role("link", name="High tier")).to_have_attribute("aria-current", "page")
    page.evaluate(UNFOLD)
    assert flaws_in_widths(page, "saved filters", SCREENSHOTS / "saved-filters") == []


def test_a_filter_is_refused_saved_and_deleted_without_javascript(chromium: Browser, console: BrowserConsole) -> None:
    world = make_world("filtering-plainly")
    context = chromium.new_context(base_url=console.url, java_script_enabled=False)
    page = context.new_page()
    sign_in(page, world)
    page.goto(f"{INBOX}?{HIGH_RISK_QUERY}")
    page.locator("summary", has_text="Save this filter").click()
    page.get_by_label("Name").fill("x" * 61)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("The name has 61 characters; at most 60 are allowed. Shorten it.")).to_be_visible()
    take_picture(page, SCREENSHOTS / "plain" / "saved-filter-refused.png")
    page.get_by_label("Name").fill("High tier")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("link", name="High tier")).to_have_attribute("aria-current", "page")
    page.locator("summary", has_text="Delete a saved filter").click()
    page.get_by_role("button", name="Delete “High tier”").click()
    expect(page.get_by_text("Deleted “High tier”.")).to_be_visible()
    expect(page.get_by_role("navigation", name="Saved filters")).to_have_count(0)
    context.close()
