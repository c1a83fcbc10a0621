"""What looks at pages finds a flaw in whichever light and width it is: one load serves them all."""

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import SCREENSHOTS, BrowserConsole
from tests.browser.pages.test_console import sign_in
from tests.support.drivers.accessibility import flaws_in_widths, overflow_flaws

pytestmark = pytest.mark.browser
STYLE = "css => { const sheet = new CSSStyleSheet(); sheet.replaceSync(css); document.adoptedStyleSheets.push(sheet) }"


@pytest.mark.parametrize(
    ("css", "where"),
    [
        ("html.dark h1 { color: #333 !important; background: #222 !important }", "dark: color-contrast"),
        ("html:not(.dark) h1 { color: #ccc !important; background: #ddd !important }", "light: color-contrast"),
    ],
)
def test_words_that_can_be_read_in_one_light_only_are_a_flaw_at_every_width(
    page: Page, console: BrowserConsole, css: str, where: str
) -> None:
    sign_in(page, console.empty)
    page.evaluate(STYLE, css)
    found = flaws_in_widths(page, "home", SCREENSHOTS / "flawed")
    assert len(found) == 2
    assert found[0].startswith(f"home 1280 {where}")
    assert found[1].startswith(f"home 400 {where}")


def test_what_is_wider_than_a_narrow_window_and_an_image_without_words_are_flaws(
    page: Page, console: BrowserConsole
) -> None:
    sign_in(page, console.empty)
    page.evaluate(STYLE, "#content { min-width: 600px }")
    page.evaluate("document.querySelector('h1').append(document.createElement('img'))")
    found = flaws_in_widths(page, "home", SCREENSHOTS / "flawed")
    assert [each.split(": ")[:2] for each in found] == [
        ["home 1280 light", "image-alt"],
        ["home 400 light", "image-alt"],
        ["home 400", "the page is wider than the window"],
    ]
    page.set_viewport_size({"width": 1440, "height": 900})
    assert overflow_flaws(page, "home", SCREENSHOTS / "flawed-narrow.png") != []
    assert page.viewport_size == {"width": 1440, "height": 900}
