"""Off the record in a real browser: shown to be so, read while it goes on, and without a word once it was forgotten."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from apps.conversations.models import Conversation
from apps.governance.acting import acting
from apps.learning.extraction import extract
from apps.learning.models import Extraction
from apps.runtime.forgetting import forget_all
from apps.runtime.models import Turn
from apps.skills.models import Skill
from apps.tenants.due import due_work
from tests.actions.conversing import reply, take, tell, tool
from tests.browser.conftest import SCREENSHOTS, Console
from tests.browser.test_console import UNFOLD, flaws, sign_in
from tests.factories import World, make_persona, make_world
from tests.standing_in import StandIn
from tests.surfaces.console.browsing import list_of, page_of

pytestmark = pytest.mark.browser
SAID = "xyzzyplugh"


def confide(world: World, standin: StandIn, *, off_the_record: bool) -> Turn:
    """A customer says a word that the agent hands to a tool and repeats."""
    standin.play(tool("get_skill", skill_id=SAID), reply(f"I heard of {SAID}."))
    thread = "off" if off_the_record else "on"
    event = tell(world, f"My door opens to {SAID}.", thread=thread, key=thread, off_the_record=off_the_record)
    turn = take(world, event, standin.backend)
    with acting(world.system):
        return Turn.objects.select_related("conversation", "session").get(pk=turn.pk)


def due(world: World, kind: str) -> list[tuple[int, int]]:
    return [(tenant_id, row_id) for tenant_id, row_id in due_work(kind) if tenant_id == world.tenant.pk]


def resolve(page: Page, conversation: Conversation) -> None:
    page.goto(page_of(conversation))
    form = page.locator("details.pc-decision", has=page.locator("summary", has_text="Resolve"))
    form.locator("summary").click()
    form.get_by_role("button", name="Resolve").click()
    expect(page.get_by_text("Resolved. What can be learned")).to_be_visible()


def looked_into(world: World, conversation: Conversation, standin: StandIn) -> Extraction:
    """The learning notes why it learns nothing, and asks no model."""
    asked = len(standin.requests())
    extraction = extract(conversation.pk, actor=world.system, backend=standin.backend)
    assert extraction is not None
    assert (extraction.verdict, len(standin.requests())) == (Extraction.Verdict.OFF_THE_RECORD, asked)
    with acting(world.operator):
        assert not Skill.objects.visible_to(world.operator).exists()
    return extraction


def look(page: Page, path: str, name: str) -> tuple[list[str], bool]:
    """What axe finds on a page with all of it unfolded, and whether the word stands anywhere in its source."""
    answer = page.goto(path)
    assert answer is not None
    assert answer.status == 200
    page.evaluate(UNFOLD)
    page.screenshot(path=SCREENSHOTS / "off-the-record" / f"{name}.png", full_page=True)
    return flaws(page, name), SAID in page.content()


def places(turn: Turn) -> dict[str, str]:
    """Where the words of a turn are shown."""
    assert turn.session is not None
    return {
        "conversation": page_of(turn.conversation),
        "session": page_of(turn.session),
        "conversations": f"{list_of(Conversation)}?tab=all",
    }


def test_what_was_said_off_the_record_is_on_no_page_afterwards(page: Page, console: Console, standin: StandIn) -> None:
    # R178
    world = make_world("confided")
    make_persona(world)
    kept, private = (confide(world, standin, off_the_record=off) for off in (False, True))
    sign_in(page, world)
    found, stands = look(page, page_of(private.conversation), "while-it-goes-on")
    assert stands
    expect(page.get_by_text("off the record", exact=True)).to_be_visible()
    for turn in (kept, private):
        resolve(page, turn.conversation)
    expect(page.get_by_text("Nothing: the conversation is off the record.")).to_be_visible()
    extraction = looked_into(world, private.conversation, standin)
    assert due(world, "forget") == [(world.tenant.pk, private.conversation_id)]
    forget_all(due(world, "forget"))
    for name, path in (places(private) | {"extraction": page_of(extraction)}).items():
        seen, stands = look(page, path, name)
        assert not stands, name
        found += seen
    page.goto(page_of(private.conversation))
    expect(page.get_by_text("and its words were forgotten")).to_be_visible()
    found += searched(page, kept)
    assert found == []


def searched(page: Page, kept: Turn) -> list[str]:
    """The search finds what was said on the record, and nothing else."""
    found, _ = look(page, f"{reverse('admin:search')}?q={SAID}", "search")
    hits = page.locator(".pc-list li:has(mark) a").all()
    hrefs = {str(link.get_attribute("href")).split("#")[0] for link in hits}
    assert hrefs == {page_of(kept.conversation)}
    return found
