"""Tables in a window as narrow as a telephone: each row as lines that say what stands in them, nothing pushed aside."""

import pytest
from playwright.sync_api import Page

from apps.governance.acting import acting
from apps.runtime.models import ModelCall
from tests.browser.conftest import SCREENSHOTS, Console
from tests.browser.test_console import UNFOLD, flaws, sign_in
from tests.surfaces.console.browsing import page_of, paths

pytestmark = [pytest.mark.browser, pytest.mark.slow]

WIDTH = 400
# What reaches past the window's edge, unless it stands in something that is moved aside by itself.
WIDER = """() => [...document.querySelectorAll('#content *, #page *')].filter(each => {
    if (each.getBoundingClientRect().right <= window.innerWidth + 1 || !each.checkVisibility()) return false
    for (let over = each; over && over !== document.body; over = over.parentElement)
        if (/auto|scroll|hidden/.test(getComputedStyle(over).overflowX)) return false
    return true
}).map(each => each.outerHTML.slice(0, 160))"""

# Tables of ours that have to be pushed aside to be read.
ASIDE = """() => [...document.querySelectorAll('.pc-scroll')].filter(each => each.scrollWidth > each.clientWidth + 1)
    .map(each => `${each.ariaLabel} is pushed aside`)"""


def test_no_page_is_wider_than_the_window_and_no_table_is_pushed_aside(page: Page, console: Console) -> None:
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    page.set_viewport_size({"width": WIDTH, "height": 900})
    sign_in(page, console.full, admin=True)
    found = []
    for name, path in paths(console.full).items():
        page.goto(path)
        page.evaluate(UNFOLD)
        page.screenshot(path=SCREENSHOTS / "narrow-dark" / f"{name}.png", full_page=True)
        wider = page.evaluate(WIDER) if page.evaluate("document.documentElement.scrollWidth") > WIDTH else []
        found += [f"{name}: {each}" for each in (*wider[:3], *page.evaluate(ASIDE))]
    assert found == []


@pytest.mark.parametrize(("name", "table"), [("conversation", "Turns"), ("session", "Prompt cache")])
def test_what_turns_cost_is_read_without_pushing_the_table_aside(
    page: Page, console: Console, name: str, table: str
) -> None:
    world = console.full
    with acting(world.operator):
        turn = ModelCall.objects.select_related("turn__session", "turn__conversation").earliest("pk").turn
        row = getattr(turn, name)
    page.set_viewport_size({"width": WIDTH, "height": 900})
    sign_in(page, world)
    page.goto(page_of(row))
    frame = page.get_by_role("region", name=table)
    page.evaluate(UNFOLD)
    page.screenshot(path=SCREENSHOTS / f"narrow-{name}.png", full_page=True)
    assert frame.evaluate("each => each.scrollWidth <= each.clientWidth + 1"), f"{table} is wider than the window"
    assert flaws(page, name) == []
