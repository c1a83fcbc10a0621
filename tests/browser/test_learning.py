"""What agents learned, in a real browser: every page for every eye."""

import pytest
from playwright.sync_api import Page

from apps.governance.acting import acting
from apps.learning.models import Reflection
from tests.browser.conftest import SCREENSHOTS, Console
from tests.browser.test_console import UNFOLD, flaws, sign_in
from tests.surfaces.console.browsing import page_of
from tests.teaching import make_lesson

DAYS = "/admin/learning/reflection/"
pytestmark = pytest.mark.browser


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_of_learning_are_accessible(page: Page, console: Console, scheme: str) -> None:
    lesson = make_lesson(console.full, cases=2)
    with acting(console.full.operator):
        day = Reflection.objects.get()
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # a literal, parametrised
    page.emulate_media(reduced_motion="reduce")
    sign_in(page, console.full, admin=True)
    found: list[str] = []
    for name, url in {
        "lessons": "/admin/lessons/lesson/",
        "lesson": page_of(lesson),
        "day": page_of(day),
        "days": DAYS,
    }.items():
        page.goto(url)
        page.evaluate(UNFOLD)
        page.screenshot(path=SCREENSHOTS / f"learning-{scheme}" / f"{name}.png", full_page=True)
        found += flaws(page, name)
    assert found == []
