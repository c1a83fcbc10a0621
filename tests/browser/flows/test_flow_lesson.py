"""From an edited draft to a version of what an agent learned, with every decision made in a real browser."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from apps.desk.models import Draft
from apps.governance.database.actor_transaction import acting_as
from apps.learning.lessons.models import LearningVersion, Lesson
from apps.tenants.actions import amend_agent
from tests.browser.pages.test_console import sign_in
from tests.support.drivers.browser_steps import assert_no_flaws, visit
from tests.support.drivers.console_client import list_of, page_of
from tests.support.drivers.conversation import reply
from tests.support.drivers.live_product import BrowserFlow, wait_for
from tests.support.factories.lessons import DRAFT_TEXT, QUESTION, SENT_TEXT, lessons_of, make_version, versions_of
from tests.support.worlds.world import World, make_persona, make_world

pytestmark = [pytest.mark.browser, pytest.mark.slow]
EXAMPLES = "Drafts of yours that an operator corrected"
FIRST_LESSON = "Say Ahoy."


def send_customer_message(flow: BrowserFlow, world: World, thread: str, customer: str, text: str = QUESTION) -> str:
    """A customer writes, the agent drafts; what its model read as the latest user turn."""
    flow.standin.play(reply(DRAFT_TEXT))
    flow.say(world, text, thread=thread, customer=customer)
    return "\n".join(block.get("text", "") for block in flow.standin.requests()[-1]["messages"][-1]["content"])


def send_edited(page: Page, world: World) -> None:
    """The newest draft, in other words."""
    with acting_as(world.operator):
        draft = Draft.objects.visible_to(world.operator).open().latest("pk")
    visit(page, reverse("admin:desk_draft_changelist"))
    page.locator(f'a[href^="{page_of(draft)}"]').first.click()
    page.locator("summary", has_text="Edit, then send").click()
    page.get_by_label("What the customer reads").fill(SENT_TEXT)
    assert_no_flaws(page)
    page.get_by_role("button", name="Edit, then send").click()
    expect(page.get_by_text("Sent in your words.")).to_be_visible()
    assert_no_flaws(page)


def test_a_correction_made_twice_becomes_a_version_that_only_new_conversations_read(flow: BrowserFlow) -> None:
    """Suggested by a worker, edited and sent by page; shown to the same contact's next turn; on the board; digested; activated.

    The conversation that was open before keeps the version it began with.
    """
    # R134, R138, R145, R146, R149, R164
    page, world = flow.page, make_world("flow-lesson")
    make_persona(world)
    first = make_version(world, "active", f"- {FIRST_LESSON}")
    amend_agent(world.agent, actor=world.admin, send_mode="suggest")
    assert FIRST_LESSON in send_customer_message(flow, world, "running", "http:ben", "Hello")
    assert EXAMPLES not in send_customer_message(flow, world, "first", "http:ann")
    sign_in(page, world)
    send_edited(page, world)
    corrected = send_customer_message(flow, world, "second", "http:ann")
    assert SENT_TEXT in corrected[corrected.index(EXAMPLES) :]
    send_edited(page, world)
    lesson = wait_for(lambda: next((each for each in lessons_of(world) if each.support_count > 1), None), "a lesson")
    visit(page, list_of(Lesson))
    page.locator(f'a[href^="{page_of(lesson)}"]').first.click()
    expect(page.get_by_text(SENT_TEXT).first).to_be_visible()
    assert_no_flaws(page)
    second = wait_for(lambda: next((each for each in versions_of(world) if each.pk != first.pk), None), "a version")
    assert (second.status, second.lesson_ids) == ("pending", [lesson.pk])
    activate(page, second)
    assert [version.status for version in versions_of(world)] == ["retired", "active"]
    assert first.pk == versions_of(world)[0].pk
    kept = send_customer_message(flow, world, "running", "http:ben", "And now?")
    assert FIRST_LESSON in kept
    assert SENT_TEXT not in kept
    assert SENT_TEXT in send_customer_message(flow, world, "new", "http:cleo", "Hello")


def activate(page: Page, version: LearningVersion) -> None:
    visit(page, list_of(LearningVersion))
    page.locator(f'a[href^="{page_of(version)}"]').first.click()
    assert_no_flaws(page)
    page.locator("summary", has_text="Activate").click()
    page.get_by_role("button", name="Activate").click()
    expect(page.get_by_text("Conversations that begin from now on read it.").first).to_be_visible()
    assert_no_flaws(page)
