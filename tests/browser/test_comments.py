"""A comment by keyboard alone, in a real browser, beside the decision, light and dark, wide and narrow."""

from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SCREENSHOTS, Console
from tests.browser.test_console import flaws, sign_in
from tests.commenting import make_comment, make_proposal
from tests.factories import make_world
from tests.surfaces.console.browsing import page_of

pytestmark = pytest.mark.browser
WIDTHS = (1280, 400)
LIGHTS: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def test_a_comment_is_said_and_withdrawn_by_keys(page: Page, console: Console) -> None:
    world = make_world("talking")
    proposal = make_proposal(world)
    make_comment(
        world, "## Before you decide\n\nFinance has to agree, see `refunds`:\n\n- who asks\n- how much", on=proposal
    )
    sign_in(page, world)
    page.goto(page_of(proposal))
    page.keyboard.press("m")
    expect(page.locator("#comment_text")).to_be_focused()
    page.keyboard.type("They said **yes**.")
    with page.expect_navigation(wait_until="load"):
        page.keyboard.press("Control+Enter")
    expect(page.locator("#comments strong", has_text="yes")).to_be_visible()
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        for scheme in LIGHTS:
            page.emulate_media(color_scheme=scheme)
            assert flaws(page, f"{width} {scheme}") == []
            page.screenshot(path=SCREENSHOTS / f"comments-{width}-{scheme}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    theirs = page.locator("#comments li", has_text="They said")
    theirs.locator("summary").press("Enter")
    with page.expect_navigation(wait_until="load"):
        theirs.get_by_role("button", name="Withdraw this comment").press("Enter")
    expect(page.locator("#comments", has_text="Withdrawn by its author")).to_be_visible()
    expect(page.get_by_text("They said")).to_have_count(0)
