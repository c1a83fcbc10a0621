"""What agents learned, in a real browser: every page for every eye."""

import pytest
from playwright.sync_api import Browser, Page, expect

from apps.governance.database.actor_transaction import acting_as
from apps.learning.contradictions.models import Contradiction
from apps.learning.distillation.models import TierRun
from apps.learning.reflection.models import Reflection
from apps.memory.models import MemoryTier
from tests.browser.conftest import SCREENSHOTS, BrowserConsole
from tests.browser.pages.test_console import sign_in
from tests.support.drivers.accessibility import UNFOLD, flaws_in_colour_schemes
from tests.support.drivers.console_client import list_of, page_of
from tests.support.factories.contradictions import make_contradiction
from tests.support.factories.lessons import make_cluster, make_example, make_lesson, make_version, versions_of
from tests.support.worlds.furnished_tenant import make_digest_run

DAYS = "/admin/learning/reflection/"
pytestmark = pytest.mark.browser


def test_the_pages_of_learning_are_accessible(page: Page, console: BrowserConsole) -> None:
    lesson = make_lesson(console.full, cases=2)
    with acting_as(console.full.operator):
        day, run = Reflection.objects.get(), TierRun.objects.all()[0]
        tier = MemoryTier.objects.get(tier="long")
    sign_in(page, console.full, admin=True)
    found: list[str] = []
    make_version(console.full, "active", "- Be brief.")
    version = make_version(console.full, body="- Be brief.\n- Name the order number.\n- Say when the parcel comes.")
    pages = {
        "lessons": "/admin/learning/lesson/",
        "lesson": page_of(lesson),
        "versions": "/admin/learning/learningversion/",
        "version": page_of(version),
        "edits": "/admin/learning/editcluster/",
        "edit": page_of(make_cluster(console.full)),
        "examples": "/admin/learning/example/",
        "example": page_of(make_example(console.full)),
        "digests": "/admin/learning/digestrun/",
        "digest": page_of(make_digest_run(console.full)),
        "contradictions": list_of(Contradiction),
        "contradiction": page_of(make_contradiction(console.full)),
        "dismissed contradiction": page_of(make_contradiction(console.full, "dismissed")),
        "day": page_of(day),
        "days": DAYS,
        "tiers": "/admin/memory/memorytier/",
        "tier": page_of(tier),
        "distillations": "/admin/learning/tierrun/",
        "distillation": page_of(run),
    }
    for name, url in pages.items():
        page.goto(url)
        page.evaluate(UNFOLD)
        found += flaws_in_colour_schemes(page, name, SCREENSHOTS / "learning" / name)
    assert found == []


def test_an_operator_activates_a_version_without_javascript(chromium: Browser, console: BrowserConsole) -> None:
    # R149
    version = make_version(console.full)
    context = chromium.new_context(base_url=console.url, java_script_enabled=False)
    page = context.new_page()
    sign_in(page, console.full)
    page.goto(page_of(version))
    page.locator("summary", has_text="Activate").click()
    page.get_by_role("button", name="Activate").click()
    expect(page.get_by_text("Conversations that begin from now on read it.")).to_be_visible()
    context.close()
    assert versions_of(console.full)[-1].status == "active"
