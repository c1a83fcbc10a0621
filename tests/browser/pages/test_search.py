"""Search in a real browser: by `/` from anywhere, for every eye, and without JavaScript."""

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, Page, expect

from apps.governance.database.actor_transaction import acting_as
from apps.personas.actions import amend_persona
from apps.personas.models import Persona
from tests.browser.conftest import SCREENSHOTS, BrowserConsole
from tests.browser.pages.test_console import sign_in
from tests.support.drivers.accessibility import (
    accessibility_flaws,
    flaws_in_colour_schemes,
    flaws_in_widths,
    take_picture,
)
from tests.support.drivers.browser_steps import go_by_shortcut

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_word_is_found_by_keyboard_for_every_eye(page: Page, console: BrowserConsole) -> None:
    sign_in(page, console.full)
    page.keyboard.press("/")
    page.wait_for_url(f"**{reverse('admin:search')}")
    found = flaws_in_colour_schemes(page, "nothing typed", SCREENSHOTS / "search-empty")
    page.keyboard.press("/")
    page.keyboard.type("parcel broken")
    page.keyboard.press("Enter")
    expect(page.locator("mark", has_text="parcel").first).to_be_visible()
    expect(page.get_by_role("navigation", name="Kinds").locator("[aria-current=page]")).to_contain_text("All")
    found += flaws_in_colour_schemes(page, "found", SCREENSHOTS / "search")
    page.get_by_role("navigation", name="Kinds").get_by_role("link", name="Conversations").click()
    page.locator(".pc-list a").first.click()
    expect(page.locator(".pc-line:target")).to_contain_text("parcel")
    assert found == []


def test_pages_are_a_few_letters_away_and_the_rest_is_a_search(page: Page, console: BrowserConsole) -> None:
    sign_in(page, console.full)
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Go to")
    expect(palette).to_be_visible()
    assert accessibility_flaws(page, "palette") == []
    # Nowhere to go yet, and no key of the page counts here.
    page.keyboard.press("Enter")
    page.keyboard.type("rules")
    expect(palette.get_by_role("link").first).to_have_text("Rules")
    expect(palette.get_by_role("status")).to_have_text("2 pages")
    take_picture(page, SCREENSHOTS / "palette.png")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{reverse('admin:personas_standingrule_changelist')}")
    page.keyboard.press("Control+k")
    page.keyboard.type("set-up tok")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{reverse('admin:tenants_agenttoken_changelist')}")
    page.keyboard.press("Control+k")
    page.keyboard.type("arrived & broken")
    expect(palette.get_by_role("link")).to_have_text(["Search for “arrived & broken”"])
    page.keyboard.press("Enter")
    expect(page.locator("mark", has_text="arrived").first).to_be_visible()
    # The words are there before the script is.
    page.wait_for_load_state()
    page.keyboard.press("Control+k")
    expect(palette).to_be_visible()
    page.keyboard.press("Escape")
    expect(palette).to_be_hidden()
    go_by_shortcut(page, "h", f"**{reverse('admin:index')}")


def test_nothing_found_says_what_to_try_without_a_script(chromium: Browser, console: BrowserConsole) -> None:
    with chromium.new_context(java_script_enabled=False, base_url=console.url) as context:
        page = context.new_page()
        sign_in(page, console.empty)
        page.get_by_role("link", name="Search", exact=True).click()
        page.get_by_label("Words", exact=True).fill("xylophone")
        page.get_by_role("button", name="Search").click()
        expect(page.get_by_text("Nothing holds these words.")).to_be_visible()
        page.set_viewport_size({"width": 420, "height": 800})
        take_picture(page, SCREENSHOTS / "search-nothing.png")


@pytest.mark.parametrize("width", [1400, 400])
def test_a_change_is_found_by_its_words_and_leads_to_its_page(page: Page, console: BrowserConsole, width: int) -> None:
    word = f"Ochre-{width}"
    with acting_as(console.full.operator):
        persona = Persona.objects.get()
    amend_persona(persona, actor=console.full.operator, values={"avoid": f"{word} & other colours."})
    page.set_viewport_size({"width": width, "height": 900})
    sign_in(page, console.full)
    page.goto(f"{reverse('admin:search')}?q=colours")
    page.get_by_role("navigation", name="Kinds").get_by_role("link", name="Changes").click()
    expect(page.locator("mark", has_text="colours").first).to_be_visible()
    assert flaws_in_widths(page, "changes", SCREENSHOTS / "search-changes", [width]) == []
    page.locator(".pc-list a").first.click()
    expect(page.get_by_text(word).first).to_be_visible()
