"""From an empty tenant to a first agent on guided pages, in a real browser."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from tests.browser.conftest import SCREENSHOTS, BrowserConsole
from tests.browser.pages.test_console import sign_in
from tests.support.drivers.accessibility import accessibility_flaws, take_picture
from tests.support.worlds.world import make_world

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 400)])
def test_a_first_agent_is_made_and_its_page_says_what_is_left(
    page: Page, console: BrowserConsole, scheme: str, width: int
) -> None:
    # R038
    del console
    world = make_world(f"begin-{scheme}")
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light", reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": 900})
    sign_in(page, world, admin=True)
    page.goto(reverse("admin:new_agent"))
    page.locator("summary", has_text="Sales").click()
    expect(page.get_by_text(f"sales adviser at {world.tenant.name}")).to_be_visible()
    folder = SCREENSHOTS / f"new-agent-{scheme}-{width}"
    take_picture(page, folder / "templates.png")
    assert accessibility_flaws(page, "templates") == []
    page.get_by_label("Template", exact=True).select_option("sales")
    page.get_by_role("button", name="Make it").click()
    expect(page.get_by_role("heading", name="What is left until Sales answers customers")).to_be_visible()
    take_picture(page, folder / "steps.png")
    assert accessibility_flaws(page, "steps") == []
