"""The desk in a real browser: an edited draft without scripts, a conversation in hand, and every page for every eye."""

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, Page, expect

from apps.conversations.actions import take_over_conversation
from apps.desk.models import Draft
from tests.browser.conftest import SCREENSHOTS, BrowserConsole
from tests.browser.pages.test_console import sign_in
from tests.support.drivers.accessibility import UNFOLD, flaws_in_colour_schemes, take_picture
from tests.support.drivers.browser_steps import go_by_shortcut
from tests.support.drivers.console_client import page_of
from tests.support.drivers.conversation import lines
from tests.support.factories.desk import make_escalation, make_waiting_draft
from tests.support.worlds.world import make_conversation, make_world

pytestmark = pytest.mark.browser


def test_a_draft_is_edited_and_sent_without_javascript(chromium: Browser, console: BrowserConsole) -> None:
    draft = make_waiting_draft(console.full, text="It may be on its way.")
    context = chromium.new_context(base_url=console.url, java_script_enabled=False)
    page = context.new_page()
    sign_in(page, console.full)
    page.goto(page_of(draft))
    editing = page.locator("details", has=page.locator("summary", has_text="Edit, then send"))
    editing.locator("summary").click()
    editing.get_by_label("What the customer reads").fill("It is on its way.")
    take_picture(page, SCREENSHOTS / "plain" / "draft-edited.png")
    editing.get_by_role("button", name="Edit, then send").click()
    expect(page.get_by_text("Sent in your words.")).to_be_visible()
    context.close()
    assert lines(console.full, draft.conversation_id)[-1] == ("agent", "It is on its way.")


def test_the_next_draft_opens_and_one_settled_elsewhere_says_so(
    chromium: Browser, page: Page, console: BrowserConsole
) -> None:
    # R134, R136
    world = make_world("two-at-one-desk")
    first, second, third = (make_waiting_draft(world, text=f"Draft {at}.") for at in ("one", "two", "three"))
    sign_in(page, world)
    page.goto(page_of(first))
    _type_reply(page, "It leaves today.")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Sent in your words.")).to_be_visible()
    page.wait_for_url(f"**{page_of(second)}")
    expect(page.get_by_role("link", name="Look at it again")).to_have_attribute("href", page_of(first))
    _type_reply(page, "It leaves tomorrow.")
    other_context = chromium.new_context(base_url=console.url)
    other = other_context.new_page()
    sign_in(other, world, admin=True)
    other.goto(page_of(second))
    other.get_by_role("button", name="Send", exact=True).click()
    other.wait_for_url(f"**{page_of(third)}")
    other_context.close()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Not done.")).to_be_visible()
    expect(page.get_by_label("What the customer reads")).to_have_value("It leaves tomorrow.")
    take_picture(page, SCREENSHOTS / "desk" / "settled-elsewhere.png")
    assert lines(world, first.conversation_id)[-1] == ("agent", "It leaves today.")
    assert lines(world, second.conversation_id)[-1] == ("agent", "Draft two.")


def test_the_list_of_drafts_is_worked_through_by_keys_without_leaving_it(page: Page, console: BrowserConsole) -> None:
    # R134, R136
    world = make_world("a-queue-of-drafts")
    drafts = [make_waiting_draft(world, text=f"Draft {number}.") for number in range(4)]
    listing = reverse("admin:desk_draft_changelist")
    sign_in(page, world)
    go_by_shortcut(page, "d", f"**{listing}**")
    for key in ("j", "j", "k", "e", "End"):
        page.keyboard.press(key)
    page.keyboard.type(" And x, j and Enter are text here.")
    _press_decision_key(page, "Control+Enter", after=drafts[1])
    page.keyboard.press("a")
    _press_decision_key(page, "Enter", after=drafts[2])
    page.keyboard.press("d")
    page.keyboard.press("2")
    _press_decision_key(page, "Control+Enter", after=drafts[3])
    page.keyboard.press("e")
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    with page.expect_response(lambda answer: answer.status == 422):
        page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Not done.")).to_be_visible()
    expect(page.get_by_label("What the customer reads")).to_be_visible()
    assert lines(world, drafts[0].conversation_id)[-1] == ("agent", "Draft 0. And x, j and Enter are text here.")
    assert lines(world, drafts[1].conversation_id)[-1] == ("agent", "Draft 1.")
    assert [lines(world, draft.conversation_id)[-1][0] for draft in drafts[2:]] == ["customer", "customer"]


def _press_decision_key(page: Page, key: str, after: Draft) -> None:
    """Press the last key of a decision; the row that follows is the one at hand."""
    with page.expect_navigation(wait_until="load"):
        page.keyboard.press(key)
    expect(page.locator(f"#row-{after.pk}")).to_be_focused()


@pytest.mark.parametrize("width", [1440, 420])
def test_drafts_and_questions_are_settled_in_their_lists_without_javascript(
    chromium: Browser, console: BrowserConsole, width: int
) -> None:
    world = make_world(f"plain-lists-{width}")
    draft, question = make_waiting_draft(world, text="It may be on its way."), make_escalation(world)
    make_waiting_draft(world)
    context = chromium.new_context(
        base_url=console.url, java_script_enabled=False, viewport={"width": width, "height": 900}
    )
    page = context.new_page()
    sign_in(page, world)
    page.goto(reverse("admin:desk_draft_changelist"))
    row = page.locator(".pc-worklist-row", has=page.locator(f"#row-{draft.pk}"))
    row.locator("summary", has_text="Edit, then send").click()
    row.get_by_label("What the customer reads").fill("It is on its way.")
    take_picture(page, SCREENSHOTS / "plain" / f"drafts-{width}.png")
    row.get_by_role("button", name="Edit, then send").click()
    expect(page.get_by_text("Sent in your words.")).to_be_visible()
    expect(page.locator(".pc-worklist-row")).to_have_count(1)
    page.goto(reverse("admin:desk_escalation_changelist"))
    row = page.locator(".pc-worklist-row", has=page.locator(f"#row-{question.pk}"))
    row.locator("summary", has_text="Answer").click()
    row.get_by_label("Your answer").fill("Yes, within a month.")
    take_picture(page, SCREENSHOTS / "plain" / f"questions-{width}.png")
    row.get_by_role("button", name="Answer").click()
    expect(page.get_by_text("Nothing else waits.")).to_be_visible()
    context.close()
    assert lines(world, draft.conversation_id)[-1] == ("agent", "It is on its way.")


def _type_reply(page: Page, words: str) -> None:
    editing = page.locator("details", has=page.locator("summary", has_text="Edit, then send"))
    editing.locator("summary").click()
    editing.get_by_label("What the customer reads").fill(words)


def test_a_person_takes_over_and_writes(page: Page, console: BrowserConsole) -> None:
    conversation = make_conversation(console.full)
    sign_in(page, console.full)
    page.goto(page_of(conversation))
    page.locator("summary", has_text="Take over").click()
    page.get_by_role("button", name="Take over").click()
    expect(page.get_by_text("The agent is locked out.").first).to_be_visible()
    page.get_by_label("Message to the customer").fill("This is Grace. I have found your parcel.")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_text("Sent. The customer reads it now.")).to_be_visible()
    page.locator("summary", has_text="Hand back").click()
    page.get_by_role("button", name="Hand back").click()
    expect(page.get_by_text("Handed back. The agent answers again.")).to_be_visible()
    assert lines(console.full, conversation.pk)[-1] == ("operator", "This is Grace. I have found your parcel.")


def test_the_pages_of_the_desk_are_accessible(page: Page, console: BrowserConsole) -> None:
    conversation = make_conversation(console.full)
    rows = {
        "draft": make_waiting_draft(console.full, conversation),
        "escalation": make_escalation(console.full, conversation),
        "conversation-in-hand": take_over_conversation(conversation, actor=console.full.admin),
    }
    sign_in(page, console.full, admin=True)
    paths = {name: page_of(row) for name, row in rows.items()}
    paths |= {f"{noun}s": reverse(f"admin:desk_{noun}_changelist") for noun in ("draft", "escalation", "sendrule")}
    found = []
    for name, path in {**paths, "send-rule-add": reverse("admin:desk_sendrule_add")}.items():
        page.goto(path)
        page.evaluate(UNFOLD)
        found += flaws_in_colour_schemes(page, name, SCREENSHOTS / "desk" / name)
    assert found == []
