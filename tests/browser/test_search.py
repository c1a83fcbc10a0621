"""Search in a real browser: by `/` from anywhere, for every eye, and without JavaScript."""

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import SCREENSHOTS, Console
from tests.browser.test_console import flaws, sign_in

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_word_is_found_by_keyboard_for_every_eye(page: Page, console: Console, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]  # a literal, parametrised
    sign_in(page, console.full)
    page.keyboard.press("/")
    page.wait_for_url(f"**{reverse('admin:search')}")
    found = flaws(page, "nothing typed")
    page.keyboard.press("/")
    page.keyboard.type("parcel broken")
    page.keyboard.press("Enter")
    expect(page.locator("mark", has_text="parcel").first).to_be_visible()
    expect(page.get_by_role("navigation", name="Kinds").locator("[aria-current=page]")).to_contain_text("All")
    found += flaws(page, "found")
    page.screenshot(path=SCREENSHOTS / f"search-{scheme}.png", full_page=True)
    page.get_by_role("navigation", name="Kinds").get_by_role("link", name="Conversations").click()
    page.locator(".pc-list a").first.click()
    expect(page.locator(".pc-line:target")).to_contain_text("parcel")
    assert found == []


def test_nothing_found_says_what_to_try_without_a_script(chromium: Browser, console: Console) -> None:
    with chromium.new_context(java_script_enabled=False, base_url=console.url) as context:
        page = context.new_page()
        sign_in(page, console.empty)
        page.get_by_role("link", name="Search", exact=True).click()
        page.get_by_label("Words").fill("xylophone")
        page.get_by_role("button", name="Search").click()
        expect(page.get_by_text("Nothing holds these words.")).to_be_visible()
        page.set_viewport_size({"width": 420, "height": 800})
        page.screenshot(path=SCREENSHOTS / "search-nothing.png", full_page=True)
