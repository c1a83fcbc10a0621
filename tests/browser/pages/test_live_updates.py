"""Two people at the same queue, each in a browser of their own."""

import pytest
from playwright.sync_api import Page, expect

from apps.desk.models import Draft
from apps.runtime.turns.operator_replies import decline_draft
from tests.browser.conftest import BrowserConsole
from tests.browser.pages.test_console import sign_in
from tests.support.drivers.accessibility import accessibility_flaws
from tests.support.drivers.console_client import list_of, page_of
from tests.support.factories.desk import make_waiting_draft
from tests.support.worlds.world import World, make_world

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def busy(console: BrowserConsole) -> World:
    del console
    return make_world("busy-desk")


def reject_draft(draft: Draft, world: World) -> None:
    decline_draft(draft, actor=world.admin, reason_code=Draft.Reason.WRONG, reason="", read_at=draft.version)


def test_a_list_says_that_more_came_and_a_page_that_somebody_was_faster(page: Page, busy: World) -> None:
    draft = make_waiting_draft(busy)
    sign_in(page, busy)
    # What the page hears first is what later news is compared with.
    with page.expect_response(lambda answer: "/live/" in answer.url):
        page.goto(list_of(Draft))
    make_waiting_draft(busy, text="Another one.")
    status = page.get_by_role("status").filter(has_text="More waits than this list shows.")
    expect(status).to_be_visible()
    expect(page.get_by_text("Another one.")).to_have_count(0)
    assert accessibility_flaws(page, "live list") == []
    status.get_by_role("link", name="Look again").click()
    # Its card holds it once more, to be edited in place.
    expect(page.get_by_role("paragraph").filter(has_text="Another one.")).to_be_visible()
    page.goto(page_of(draft))
    editing = page.locator("details", has=page.locator("summary", has_text="Edit, then send"))
    editing.locator("summary").click()
    typed = editing.get_by_label("What the customer reads")
    typed.fill("What I was about to say.")
    reject_draft(draft, busy)
    status = page.get_by_role("status").filter(has_text="Somebody else changed or settled this.")
    expect(status).to_be_visible()
    expect(typed).to_have_value("What I was about to say.")
    assert accessibility_flaws(page, "live page") == []
