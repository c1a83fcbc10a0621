"""Why an agent said something, in a real browser: a page to be read by every eye, at every width."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SCREENSHOTS, BrowserConsole
from tests.browser.pages.test_console import sign_in
from tests.support.drivers.accessibility import UNFOLD, WIDTHS, flaws_in_widths
from tests.support.drivers.console_client import page_of
from tests.support.factories.explained_replies import REPLY_TEXT, ExplainedReply, explain
from tests.support.servers.standin_model import StandIn, standin, standing_in

__all__ = ["standin", "standing_in"]
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def explained(console: BrowserConsole, standing_in: StandIn) -> ExplainedReply:
    standing_in.forget()
    return explain(console.full, standing_in)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_reply_leads_to_its_reasons(
    page: Page, console: BrowserConsole, explained: ExplainedReply, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    sign_in(page, console.full)
    page.goto(page_of(explained.conversation))
    page.get_by_role("link", name="Why?").click()
    expect(page.get_by_role("heading", name="What the reply repeats")).to_be_visible()
    expect(page.locator("mark", has_text="Goods may be returned within 14 days").first).to_be_visible()
    expect(page.get_by_text(REPLY_TEXT)).to_be_visible()
    page.evaluate(UNFOLD)
    assert flaws_in_widths(page, "why", SCREENSHOTS / "why", [width]) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_a_skill_leads_to_who_was_told_it(
    page: Page, console: BrowserConsole, explained: ExplainedReply, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    sign_in(page, console.full)
    page.goto(page_of(explained.skill))
    page.get_by_role("link", name="Who was told this").click()
    expect(page.get_by_role("heading", name="Sessions that carried it")).to_be_visible()
    expect(page.get_by_text("In the last 30 days")).to_be_visible()
    page.evaluate(UNFOLD)
    assert flaws_in_widths(page, "carried", SCREENSHOTS / "carried", [width]) == []
