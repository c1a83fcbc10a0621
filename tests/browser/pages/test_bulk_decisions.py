"""Deciding on many proposals at once in a real browser: by key, by mouse without a script, and for every eye."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, Page, expect

from apps.console.review.inbox_filters import FLOOD_FROM
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal
from apps.governance.proposals.actions import snooze_proposal
from apps.review.models import BulkDecision
from apps.review.tasks import decide_bulk
from tests.browser.conftest import SCREENSHOTS, BrowserConsole
from tests.browser.pages.test_console import sign_in
from tests.support.drivers.accessibility import accessibility_flaws, take_picture
from tests.support.drivers.console_client import list_of
from tests.support.factories.bulk_decisions import make_drafts, states

pytestmark = pytest.mark.browser


def latest_bulk_decision(console: BrowserConsole) -> BulkDecision:
    with acting_as(console.full.operator):
        return BulkDecision.objects.latest("pk")


def checkbox_selectors(drafts: list[Proposal]) -> list[str]:
    """Where the boxes of these rows are."""
    return [f'input[name="row"][value="{draft.pk}"]' for draft in drafts]


def test_rows_are_ticked_by_key_and_the_report_counts_along(page: Page, console: BrowserConsole) -> None:
    drafts = make_drafts(console.full, 3)
    sign_in(page, console.full)
    page.goto(list_of(Proposal))
    page.keyboard.press("Shift+X")
    assert page.locator('input[name="row"]:not(:checked)').count() == 0
    page.keyboard.press("Shift+X")
    assert page.locator('input[name="row"]:checked').count() == 0
    for box in checkbox_selectors(drafts):
        page.locator("tr", has=page.locator(box)).locator("a").first.focus()
        page.keyboard.press("x")
        expect(page.locator(box)).to_be_checked()
    take_picture(page, SCREENSHOTS / "together" / "inbox.png")
    page.get_by_role("button", name="Approve selected").click()
    expect(page.get_by_role("heading", name="What will be approved")).to_be_visible()
    take_picture(page, SCREENSHOTS / "together" / "look.png")
    assert accessibility_flaws(page, "look") == []
    page.get_by_role("button", name="Approve 3 proposals").click()
    expect(page.get_by_text("0 done, 0 refused, 3 waiting.")).to_be_visible()
    assert accessibility_flaws(page, "waiting") == []
    snooze_proposal(drafts[0], actor=console.full.admin, until=drafts[0].expires_at)
    decide_bulk.run(console.full.tenant.pk, latest_bulk_decision(console).pk)
    expect(page.get_by_text("2 done, 1 refused, 0 waiting.")).to_be_visible()
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    page.reload()
    take_picture(page, SCREENSHOTS / "together" / "report.png")
    assert accessibility_flaws(page, "report") == []
    page.goto(reverse("admin:bulk_decision"))
    expect(page.get_by_text("2 done, 1 refused, 0 waiting")).to_be_visible()
    take_picture(page, SCREENSHOTS / "together" / "latest.png")
    assert accessibility_flaws(page, "latest") == []
    assert states(console.full, drafts) == ["open", "applied", "applied"]


def test_rows_are_rejected_together_without_javascript(chromium: Browser, console: BrowserConsole) -> None:
    drafts = make_drafts(console.full, 2)
    context = chromium.new_context(base_url=console.url, java_script_enabled=False)
    page = context.new_page()
    sign_in(page, console.full)
    page.goto(list_of(Proposal))
    for box in checkbox_selectors(drafts):
        page.locator(box).check()
    page.get_by_role("button", name="Reject selected").click()
    page.get_by_label("Not useful").check()
    take_picture(page, SCREENSHOTS / "together" / "reject.png")
    page.get_by_role("button", name="Reject 2 proposals").click()
    expect(page.get_by_text("0 done, 0 refused, 2 waiting.")).to_be_visible()
    decide_bulk.run(console.full.tenant.pk, latest_bulk_decision(console).pk)
    page.get_by_role("link", name="Look again").click()
    expect(page.get_by_text("2 done, 0 refused, 0 waiting.")).to_be_visible()
    assert states(console.full, drafts) == ["rejected", "rejected"]
    context.close()


def test_a_flood_from_one_agent_closes_in_three_clicks(page: Page, console: BrowserConsole) -> None:
    drafts = make_drafts(console.full, FLOOD_FROM)
    sign_in(page, console.full)
    page.goto(list_of(Proposal))
    page.get_by_role("link", name="Reject all of agent support").click()
    expect(page.get_by_role("heading", name="What will be rejected")).to_be_visible()
    take_picture(page, SCREENSHOTS / "together" / "flood.png")
    page.get_by_text("Not useful").click()
    page.get_by_role("button", name=re.compile(r"^Reject \d+ proposals$")).click()
    expect(page.get_by_text("0 done, 0 refused")).to_be_visible()
    decide_bulk.run(console.full.tenant.pk, latest_bulk_decision(console).pk)
    assert states(console.full, drafts) == ["rejected"] * FLOOD_FROM


def test_the_inbox_fits_a_narrow_window_with_its_boxes(page: Page, console: BrowserConsole) -> None:
    make_drafts(console.full, 1)
    page.set_viewport_size({"width": 420, "height": 800})
    sign_in(page, console.full)
    page.goto(reverse("admin:governance_proposal_changelist"))
    take_picture(page, SCREENSHOTS / "together" / "narrow.png")
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert accessibility_flaws(page, "narrow") == []
