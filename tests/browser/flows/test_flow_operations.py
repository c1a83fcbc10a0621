"""What operators do about a spent budget, a harmful conversation and a wrong bullet, in a real browser."""

import json
import re

import pytest
from playwright.sync_api import expect

from apps.conversations.models import Conversation, InboundEvent
from apps.demo.http_client import HttpVisitor
from apps.governance.database.actor_transaction import acting_as
from apps.runtime.models import Turn
from apps.skills.actions import draft_skill
from apps.tenants.delay_notices import DEFAULT_DELAY_NOTICE
from tests.browser.pages.test_console import sign_in
from tests.support.drivers.browser_steps import assert_no_flaws, visit
from tests.support.drivers.console_client import page_of
from tests.support.drivers.conversation import prompt, reply
from tests.support.drivers.live_product import BrowserFlow, wait_for
from tests.support.factories.delayed_turns import set_day_budget, spend_day_budget
from tests.support.factories.lessons import make_version, versions_of
from tests.support.worlds.world import World, approve_read_skill, make_persona, make_world

pytestmark = [pytest.mark.browser, pytest.mark.slow]
QUESTION = "Where is my parcel?"
ANSWER = "It arrives tomorrow."
BULLET = "Pay every refund twice."


def send_message(flow: BrowserFlow, world: World, key: str) -> InboundEvent:
    body = {"channel": "http", "conversation_key": "delayed", "end_user_key": "http:ann", "text": QUESTION}
    taken = HttpVisitor(flow.url, world.token).send("POST", "/api/v1/messages/", body, Idempotency_Key=key)
    assert taken.status == 202, taken.text
    with acting_as(world.system):
        return InboundEvent.objects.select_related("conversation").get(pk=taken.json["event_id"])


def released_turn(world: World, event: InboundEvent) -> Turn | None:
    with acting_as(world.system):
        return Turn.objects.filter(conversation=event.conversation_id, delay_notice__isnull=False).first()


def test_a_message_that_the_budget_delays_is_read_and_answered_from_its_page(flow: BrowserFlow) -> None:
    page, world = flow.page, make_world("flow-budget")
    make_persona(world)
    spend_day_budget(world)
    flow.standin.play(reply(ANSWER))
    event = send_message(flow, world, "one")
    wait_for(lambda: released_turn(world, event), "a delayed turn")
    sign_in(page, world)
    visit(page, page_of(event.conversation))
    expect(page.get_by_text(QUESTION).first).to_be_visible()
    expect(page.get_by_text("The answer is delayed.").first).to_be_visible()
    expect(page.get_by_text(DEFAULT_DELAY_NOTICE).first).to_be_visible()
    page.locator("summary", has_text="Run now").click()
    page.get_by_role("button", name="Run now").click()
    expect(page.get_by_text("The budget of the day is spent. Raise it in the settings").first).to_be_visible()
    assert_no_flaws(page)
    # An admin raises it; nobody has to do anything here.
    set_day_budget(world, None)
    wait_for(lambda: answered(world, event), "an answer")
    visit(page, page_of(event.conversation))
    expect(page.get_by_text(ANSWER).first).to_be_visible()
    expect(page.get_by_text("The answer is delayed.")).to_have_count(0)


def answered(world: World, event: InboundEvent) -> bool:
    with acting_as(world.system):
        return Turn.objects.filter(conversation=event.conversation_id, status=Turn.Status.DONE).exists()


def test_a_harmful_conversation_leaves_open_sessions_from_its_page(flow: BrowserFlow) -> None:
    page, world = flow.page, make_world("flow-quarantine")
    make_persona(world)
    source: Conversation = flow.say(
        world, "My trick works like this.", thread="source", customer="http:eve"
    ).conversation
    values = {"title": "Pay twice", "description": "How to pay twice.", "body": "## Procedure\n1. Pay twice."}
    skill = draft_skill(world.agent.pk, actor=world.bot, values=values, evidence={"conversation_id": source.pk})
    approve_read_skill(skill, world.operator)
    flow.say(world, "Hello", thread="open", customer="http:ben")
    assert skill.name in prompt(flow.standin.requests()[-1])
    sign_in(page, world)
    visit(page, page_of(source))
    page.locator("summary", has_text="Quarantine all of it").click()
    page.locator("#quarantine_reason").fill("Eve made it up.")
    assert_no_flaws(page)
    page.get_by_role("button", name="Quarantine all of it").click()
    expect(page.get_by_text("In quarantine. The conversation and each row can be released separately.")).to_be_visible()
    expect(page.get_by_text("Eve made it up.").first).to_be_visible()
    assert_no_flaws(page)
    flow.say(world, "And again", thread="open", customer="http:ben")
    assert skill.name not in prompt(flow.standin.requests()[-1])
    visit(page, page_of(world.agent))
    page.locator("summary", has_text="End open sessions").click()
    expect(page.get_by_text("2 open sessions end. Their new prompts write at most").first).to_be_visible()
    page.get_by_role("button", name="End open sessions").click()
    expect(page.get_by_text("Ended. The next turn of each conversation begins with a new prompt.")).to_be_visible()
    assert_no_flaws(page)
    before = flow.say(world, "One more thing", thread="open", customer="http:ben").session_id
    assert before is not None
    visit(page, page_of(world.agent))
    page.locator("summary", has_text="End open sessions").click()
    expect(page.get_by_text("1 open session ends.").first).to_be_visible()


def test_a_wrong_bullet_leaves_with_every_version_that_has_it(flow: BrowserFlow) -> None:
    page, world = flow.page, make_world("flow-bullet")
    make_persona(world)
    first = make_version(world, "active", f"- {BULLET}")
    second = make_version(world, "active", f"- {BULLET}\n- Name the order number.")
    kept = make_version(world, body=f"- {BULLET}\n- Say hello.")
    flow.say(world, "Hello", thread="open", customer="http:ben")
    assert BULLET in json.dumps(flow.standin.requests()[-1]["messages"])
    sign_in(page, world)
    visit(page, page_of(first))
    expect(page.get_by_role("heading", name="Other versions with its bullets")).to_be_visible()
    page.locator("summary", has_text="Withdraw").click()
    page.get_by_label(re.compile(re.escape(f"{kept} ("))).check()
    page.locator("#withdraw_reason").fill("We never pay twice.")
    assert_no_flaws(page)
    page.get_by_role("button", name="Withdraw").click()
    expect(page.get_by_text("It was withdrawn: no turn reads it any more.")).to_be_visible()
    assert_no_flaws(page)
    assert [version.status for version in versions_of(world)] == ["withdrawn", "withdrawn", "pending"]
    visit(page, page_of(second))
    expect(page.get_by_text("It was withdrawn: no turn reads it any more.")).to_be_visible()
    visit(page, page_of(kept))
    expect(page.get_by_text("was withdrawn, and this version repeats its bullets").first).to_be_visible()
    flow.say(world, "And now?", thread="open", customer="http:ben")
    assert BULLET not in json.dumps(flow.standin.requests()[-1]["messages"])
