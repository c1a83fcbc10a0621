"""Health and the page of a session in a real browser: what is overdue and where the cache is cut is read, not only seen."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from apps.governance.database.actor_transaction import acting_as
from apps.runtime.health.beat_monitor import register_beat_tasks
from apps.runtime.models import ModelCall
from tests.browser.conftest import SCREENSHOTS, BrowserConsole
from tests.browser.pages.test_console import sign_in
from tests.console.dashboard.test_health import set_last_run
from tests.support.drivers.accessibility import OVERFLOWING_ELEMENTS, UNFOLD, flaws_in_colour_schemes
from tests.support.drivers.console_client import page_of
from tests.support.factories.explained_replies import ExplainedReply, explain
from tests.support.servers.standin_model import StandIn, standin, standing_in
from tests.support.worlds.world import make_persona, make_world

__all__ = ["standin", "standing_in"]
pytestmark = pytest.mark.browser

WIDE_AND_NARROW = pytest.mark.parametrize("width", [1400, 400])


@pytest.fixture(scope="module")
def answered(console: BrowserConsole, standing_in: StandIn) -> ExplainedReply:
    """A reply in a session, whose call noted its cache marks."""
    del console
    standing_in.forget()
    world = make_world("marks")
    make_persona(world, identity="You are Ada of Lantern Books, a bookshop. " * 120, style="Warm. " * 400)
    return explain(world, standing_in)


def check_page(page: Page, name: str, width: int) -> list[str]:
    """What axe finds in both lights, and what is wider than the window."""
    found = flaws_in_colour_schemes(page, name, SCREENSHOTS / f"{name}-{width}")
    return found + (page.evaluate(OVERFLOWING_ELEMENTS) if width < 1000 else [])


@WIDE_AND_NARROW
def test_what_the_beat_missed_is_told_in_words_in_every_window(page: Page, console: BrowserConsole, width: int) -> None:
    register_beat_tasks()
    set_last_run("10 seconds")
    set_last_run("3 hours", "apps.learning.tasks.sweep_lessons")
    sign_in(page, console.full)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(reverse("admin:health"))
    expect(page.get_by_role("status")).to_contain_text("Overdue by the beat: Learn from decisions.")
    beat = page.get_by_role("region", name="When the beat woke the house")
    expect(beat.get_by_role("row").nth(1)).to_contain_text("overdue for 2 hours")
    assert check_page(page, "health", width) == []


@WIDE_AND_NARROW
def test_cache_marks_stand_under_their_slots_in_words(page: Page, answered: ExplainedReply, width: int) -> None:
    with acting_as(answered.world.operator):
        session = ModelCall.objects.select_related("turn__session").latest("pk").turn.session
    assert session is not None
    sign_in(page, answered.world)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(page_of(session))
    expect(page.get_by_text("Cache mark behind this slot: ").first).to_be_visible()
    expect(page.get_by_role("region", name="Prompt cache")).to_contain_text("behind message 1 of those sent")
    page.evaluate(UNFOLD)
    assert check_page(page, "session", width) == []
