"""Tables in a window as narrow as a telephone: each row as lines that say what stands in them, nothing pushed aside."""

import pytest
from playwright.sync_api import Page

from apps.governance.database.actor_transaction import acting_as
from apps.runtime.models import ModelCall
from tests.browser.conftest import SCREENSHOTS, BrowserConsole
from tests.browser.pages.test_console import sign_in
from tests.support.drivers.accessibility import UNFOLD, accessibility_flaws, take_picture
from tests.support.drivers.console_client import page_of

pytestmark = [pytest.mark.browser, pytest.mark.slow]

WIDTH = 400


@pytest.mark.parametrize(("name", "table"), [("conversation", "Turns"), ("session", "Prompt cache")])
def test_what_turns_cost_is_read_without_pushing_the_table_aside(
    page: Page, console: BrowserConsole, name: str, table: str
) -> None:
    world = console.full
    with acting_as(world.operator):
        turn = ModelCall.objects.select_related("turn__session", "turn__conversation").earliest("pk").turn
        row = getattr(turn, name)
    page.set_viewport_size({"width": WIDTH, "height": 900})
    sign_in(page, world)
    page.goto(page_of(row))
    frame = page.get_by_role("region", name=table)
    page.evaluate(UNFOLD)
    take_picture(page, SCREENSHOTS / f"narrow-{name}.png")
    assert frame.evaluate("each => each.scrollWidth <= each.clientWidth + 1"), f"{table} is wider than the window"
    assert accessibility_flaws(page, name) == []
