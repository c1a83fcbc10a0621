"""A reply reported by keyboard alone, seen at home, settled, and learned from; without scripts, and for every eye."""

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, Page, expect

from apps.desk.reports.models import Report
from apps.governance.database.actor_transaction import acting_as
from tests.browser.conftest import SCREENSHOTS, BrowserConsole
from tests.browser.pages.test_console import sign_in
from tests.support.drivers.accessibility import flaws_in_widths, take_picture
from tests.support.drivers.browser_steps import assert_no_flaws
from tests.support.drivers.console_client import page_of
from tests.support.drivers.conversation import reply
from tests.support.drivers.live_product import BrowserFlow, wait_for
from tests.support.factories.lessons import lessons_of
from tests.support.factories.reports import CORRECTION, EXPLANATION, QUESTION, REPLY_TEXT, make_reply, make_report_of
from tests.support.worlds.world import World, make_persona, make_world

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def latest_report(world: World) -> Report:
    with acting_as(world.operator):
        return Report.objects.visible_to(world.operator).latest("pk")


def test_a_reply_is_reported_seen_at_home_settled_and_learned_from_by_keys(flow: BrowserFlow) -> None:
    page, world = flow.page, make_world("flow-report")
    make_persona(world)
    flow.standin.play(reply(REPLY_TEXT))
    turn = flow.say(world, QUESTION)
    sign_in(page, world)
    page.goto(page_of(turn.conversation))
    page.get_by_role("link", name="Report the reply of").press("Enter")
    page.wait_for_url("**?reply=*")
    assert_no_flaws(page)
    for key in ("f", "1"):
        page.keyboard.press(key)
    expect(page.get_by_label("A fact is wrong")).to_be_checked()
    for words in (EXPLANATION, CORRECTION):
        page.keyboard.press("Tab")
        page.keyboard.type(words)
    with page.expect_navigation(wait_until="load"):
        page.keyboard.press("Control+Enter")
    expect(page.get_by_text("waits for somebody who settles it")).to_be_visible()
    expect(page.locator(".pc-transcript").get_by_role("link", name="reported: a fact is wrong")).to_be_visible()
    assert_no_flaws(page)
    for key in ("g", "h"):
        page.keyboard.press(key)
    queue = page.get_by_role("rowheader").get_by_role("link", name="Reported replies")
    expect(queue).to_be_visible()
    queue.press("Enter")
    page.wait_for_url("**tab=open")
    assert_no_flaws(page)
    for key in ("j", "Enter"):
        page.keyboard.press(key)
    expect(page.get_by_role("link", name="Why it said that")).to_be_visible()
    assert_no_flaws(page)
    page.keyboard.press("a")
    page.get_by_label("Memory is to be changed").press("Space")
    with page.expect_navigation(wait_until="load"):
        page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Nothing else waits.")).to_be_visible()
    report = latest_report(world)
    assert (report.explanation, report.correction, report.outcome) == (EXPLANATION, CORRECTION, "memory")
    lesson = wait_for(lambda: next(iter(lessons_of(world)), None), "a lesson")
    page.goto(page_of(report))
    page.get_by_role("link", name=str(lesson)).press("Enter")
    expect(page.get_by_text(CORRECTION)).to_be_visible()
    assert_no_flaws(page)


def test_a_reply_is_reported_and_the_report_settled_without_javascript(
    chromium: Browser, console: BrowserConsole
) -> None:
    world = make_world("report-without-scripts")
    reported_reply = make_reply(world)
    context = chromium.new_context(base_url=console.url, java_script_enabled=False)
    page = context.new_page()
    sign_in(page, world)
    page.goto(page_of(reported_reply.conversation))
    page.get_by_role("link", name="Report the reply of").click()
    page.get_by_label("Other", exact=True).check()
    page.get_by_role("button", name="Report a reply").click()
    expect(page.get_by_text("Explain what is wrong with the reply.").first).to_be_visible()
    page.get_by_label("How so").fill(EXPLANATION)
    take_picture(page, SCREENSHOTS / "plain" / "report-refused.png")
    page.get_by_role("button", name="Report a reply").click()
    page.get_by_role("link", name="The report", exact=True).click()
    page.get_by_label("Nothing was wrong").check()
    page.get_by_role("button", name="Settle").click()
    expect(page.get_by_text("Settled.")).to_be_visible()
    context.close()
    assert (latest_report(world).reason_code, latest_report(world).outcome) == ("other", "nothing_wrong")


def test_every_page_of_a_report_is_for_every_eye(page: Page, console: BrowserConsole) -> None:
    world = make_world("reports-seen")
    reported_reply = make_reply(world)
    report = make_report_of(world, reported_reply)
    make_report_of(world, reported_reply, actor=world.admin, correction="")
    shown = {
        "thread": page_of(reported_reply.conversation),
        "asked": f"{page_of(reported_reply.conversation)}?reply={reported_reply.pk}",
        "report": page_of(report),
        "list": reverse("admin:desk_report_changelist"),
    }
    sign_in(page, world)
    for name, path in shown.items():
        page.goto(path)
        assert flaws_in_widths(page, name, SCREENSHOTS / f"report-{name}") == []
