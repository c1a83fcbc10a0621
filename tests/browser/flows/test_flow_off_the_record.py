"""Off the record in a real browser: shown to be so, read while it goes on, and without a word once it was forgotten."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from apps.conversations.models import Conversation
from apps.governance.database.actor_transaction import acting_as
from apps.learning.extraction.models import Extraction
from apps.runtime.models import Turn
from apps.skills.models import Skill
from tests.browser.conftest import SCREENSHOTS
from tests.browser.pages.test_console import sign_in
from tests.support.drivers.accessibility import UNFOLD, accessibility_flaws
from tests.support.drivers.console_client import list_of, page_of
from tests.support.drivers.conversation import reply, tool
from tests.support.drivers.live_product import BrowserFlow, wait_for
from tests.support.worlds.world import World, make_persona, make_world

pytestmark = [pytest.mark.browser, pytest.mark.slow]
SECRET_WORD = "xyzzyplugh"


def send_secret(flow: BrowserFlow, world: World, *, off_the_record: bool) -> Turn:
    """A customer says a word that the agent hands to a tool and repeats."""
    flow.standin.play(tool("get_skill", skill_id=SECRET_WORD), reply(f"I heard of {SECRET_WORD}."))
    thread = "off" if off_the_record else "on"
    return flow.say(world, f"My door opens to {SECRET_WORD}.", thread=thread, off_the_record=off_the_record)


def resolve(page: Page, conversation: Conversation) -> None:
    page.goto(page_of(conversation))
    form = page.locator("details.pc-decision", has=page.locator("summary", has_text="Resolve"))
    form.locator("summary").click()
    form.get_by_role("button", name="Resolve").click()
    expect(page.get_by_text("Resolved. What can be learned")).to_be_visible()


def find_extraction(world: World, conversation: Conversation) -> Extraction | None:
    """Why the learning learns nothing, once it has noted it."""
    with acting_as(world.operator):
        return Extraction.objects.filter(conversation=conversation).first()


def is_forgotten(world: World, conversation: Conversation) -> bool:
    """Whether a worker has taken its words away."""
    with acting_as(world.system):
        return not any(SECRET_WORD in line.text for line in conversation.messages.all())


def check_page(page: Page, path: str, name: str) -> tuple[list[str], bool]:
    """What axe finds on a page with all of it unfolded, and whether the word stands anywhere in its source."""
    answer = page.goto(path)
    assert answer is not None
    assert answer.status == 200
    page.evaluate(UNFOLD)
    page.screenshot(path=SCREENSHOTS / "off-the-record" / f"{name}.png", full_page=True)
    return accessibility_flaws(page, name), SECRET_WORD in page.content()


def list_turn_pages(turn: Turn) -> dict[str, str]:
    """Where the words of a turn are shown."""
    assert turn.session is not None
    return {
        "conversation": page_of(turn.conversation),
        "session": page_of(turn.session),
        "conversations": f"{list_of(Conversation)}?tab=all",
    }


def test_what_was_said_off_the_record_is_on_no_page_afterwards(flow: BrowserFlow) -> None:
    """Answered, looked into and forgotten by a worker; the model of the extraction is never asked."""
    # R178
    page, world = flow.page, make_world("confided")
    make_persona(world)
    kept, private = (send_secret(flow, world, off_the_record=off) for off in (False, True))
    sign_in(page, world)
    found, stands = check_page(page, page_of(private.conversation), "while-it-goes-on")
    assert stands
    expect(page.get_by_text("off the record", exact=True)).to_be_visible()
    asked = len(flow.standin.requests())
    resolve(page, private.conversation)
    expect(page.get_by_text("Nothing: the conversation is off the record.")).to_be_visible()
    extraction = wait_for(lambda: find_extraction(world, private.conversation), "an extraction")
    wait_for(lambda: is_forgotten(world, private.conversation), "a forgotten conversation")
    assert (extraction.verdict, len(flow.standin.requests())) == (Extraction.Verdict.OFF_THE_RECORD, asked)
    with acting_as(world.operator):
        assert not Skill.objects.visible_to(world.operator).exists()
    resolve(page, kept.conversation)
    for name, path in (list_turn_pages(private) | {"extraction": page_of(extraction)}).items():
        seen, stands = check_page(page, path, name)
        assert not stands, name
        found += seen
    page.goto(page_of(private.conversation))
    expect(page.get_by_text("and its words were forgotten")).to_be_visible()
    found += check_search(page, kept)
    assert found == []


def check_search(page: Page, kept: Turn) -> list[str]:
    """The search finds what was said on the record, and nothing else."""
    found, _ = check_page(page, f"{reverse('admin:search')}?q={SECRET_WORD}", "search")
    hits = page.locator(".pc-list li:has(mark) a").all()
    hrefs = {str(link.get_attribute("href")).split("#")[0] for link in hits}
    assert hrefs == {page_of(kept.conversation)}
    return found
