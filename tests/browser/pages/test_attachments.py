"""A file in a real browser: attached by hand, downloaded, and looked at in both lights."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SCREENSHOTS, BrowserConsole
from tests.browser.pages.test_console import sign_in
from tests.support.drivers.accessibility import flaws_in_colour_schemes
from tests.support.drivers.console_client import page_of
from tests.support.worlds.world import make_skill

pytestmark = pytest.mark.browser


def test_a_file_is_attached_by_keyboard_and_downloaded(page: Page, console: BrowserConsole, tmp_path: Path) -> None:
    # R091
    skill = make_skill(console.full, body="Look it up in prices.csv.", title="Quote a price")
    for name in ("prices.csv", "terms.txt"):
        (tmp_path / name).write_text("Plan,Price\nPro,20\n", encoding="utf-8")
    sign_in(page, console.full)
    page.goto(page_of(skill))
    for name in ("prices.csv", "terms.txt"):
        page.get_by_label("Attach a file").set_input_files(tmp_path / name)
        page.get_by_label("Attach a file").focus()
        page.keyboard.press("Tab")
        expect(page.get_by_role("button", name="Attach", exact=True)).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_role("link", name=name)).to_be_visible()
    with page.expect_download() as waiting:
        page.get_by_role("link", name="prices.csv").click()
    assert waiting.value.suggested_filename == "prices.csv"
    assert flaws_in_colour_schemes(page, "skill-files", SCREENSHOTS / "skill-files") == []
    page.get_by_role("button", name="Move terms.txt up").click()
    expect(page.locator(".pc-files > li").first).to_contain_text("terms.txt")
    page.get_by_role("button", name="Remove terms.txt").click()
    expect(page.get_by_role("link", name="terms.txt")).to_have_count(0)
