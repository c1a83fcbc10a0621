"""What takes longer in a real browser: it says so, for every eye, and a decision is sent once however often it is pressed."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, Route, expect

from apps.governance.database.actor_transaction import acting_as
from apps.skills.models import Skill
from tests.browser.conftest import SCREENSHOTS, BrowserConsole
from tests.browser.pages.test_console import sign_in
from tests.support.drivers.accessibility import flaws_in_colour_schemes
from tests.support.drivers.console_client import page_of
from tests.support.worlds.world import make_skill

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [1400, 400])
def test_a_page_that_takes_long_says_so_until_it_is_there(page: Page, console: BrowserConsole, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    sign_in(page, console.full)
    page.goto(reverse("admin:search"))
    # As long as an answer of nothing leaves the page where it is, it can be looked at while it waits.
    page.route("**/search/?q=*", lambda route: route.fulfill(status=204))
    page.get_by_label("Words", exact=True).fill("refund")
    page.get_by_role("button", name="Search").click(no_wait_after=True)
    expect(page.get_by_role("status")).to_have_text("Working. This takes a moment.")
    assert flaws_in_colour_schemes(page, "slow", SCREENSHOTS / f"slow-{width}") == []
    page.unroute("**/search/?q=*")
    page.get_by_role("button", name="Search").click()
    page.wait_for_url("**/search/?q=refund")
    expect(page.locator("mark").first).to_be_visible()
    expect(page.locator(".pc-slow-notice")).to_have_count(0)


def test_a_decision_is_sent_once_however_often_its_button_is_pressed(page: Page, console: BrowserConsole) -> None:
    draft = make_skill(console.full, title="Send a second invoice")
    sign_in(page, console.full)
    page.goto(page_of(draft))
    posts: list[str] = []

    def nothing_comes(route: Route) -> None:
        if route.request.method != "POST":
            route.continue_()
            return
        posts.append(route.request.url)
        route.fulfill(status=204)

    page.route("**/*", nothing_comes)
    form = page.locator("form", has=page.get_by_role("button", name="Approve", exact=True))
    approve = form.get_by_role("button", name="Approve", exact=True)
    for _ in range(3):
        approve.click(no_wait_after=True)
    expect(page.get_by_role("status").filter(has_text="Working.")).to_be_visible()
    assert len(posts) == 1
    # Where nothing came of it, it may be pressed again after a while.
    expect(form).not_to_have_attribute("aria-busy", "true")
    page.unroute("**/*")
    approve.click()
    expect(page.get_by_text("Approved. The next session of this agent lists the skill.")).to_be_visible()
    with acting_as(console.full.operator):
        assert Skill.objects.get(pk=draft.pk).status == Skill.Status.APPROVED
