"""What slot 1 would say while one types, in a real browser."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import SCREENSHOTS, BrowserConsole
from tests.browser.pages.test_console import sign_in
from tests.support.drivers.accessibility import accessibility_flaws, take_picture
from tests.support.drivers.console_client import page_of
from tests.support.worlds.world import make_persona, make_world

pytestmark = pytest.mark.browser


def test_the_preview_follows_what_is_typed(page: Page, console: BrowserConsole) -> None:
    del console
    world = make_world("previews")
    persona = make_persona(world)
    sign_in(page, world)
    page.goto(page_of(persona))
    preview = page.locator(".pc-preview")
    expect(preview.get_by_role("heading", name="Slot 1 as the next session carries it")).to_be_visible()
    page.get_by_label("Style").fill("Answer in one line.")
    expect(preview.get_by_role("heading", name="Slot 1 as it would read")).to_be_visible()
    expect(preview).to_contain_text("Answer in one line.")
    page.get_by_label("Style").press("End")
    page.keyboard.type(" Ask twice.")
    expect(preview).to_contain_text("Answer in one line. Ask twice.")
    expect(page.get_by_label("Style")).to_have_value("Answer in one line. Ask twice.")
    take_picture(page, SCREENSHOTS / "preview.png")
    assert accessibility_flaws(page, "preview") == []
    page.reload()
    expect(preview).not_to_contain_text("Ask twice.")


def test_a_button_previews_without_javascript(chromium: Browser, console: BrowserConsole) -> None:
    world = make_world("previews-plain")
    persona = make_persona(world)
    context = chromium.new_context(base_url=console.url, java_script_enabled=False)
    page = context.new_page()
    sign_in(page, world)
    page.goto(page_of(persona))
    page.get_by_label("Style").fill("Answer in one line.")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("The preview below reads what you typed.")).to_be_visible()
    expect(page.locator(".pc-preview")).to_contain_text("Answer in one line.")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("It applies from the agent's next session on")).to_be_visible()
    context.close()
