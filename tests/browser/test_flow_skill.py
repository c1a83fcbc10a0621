"""From a conversation to a skill in the next session, with every decision made in a real browser."""

import pytest
from playwright.sync_api import Page, expect

from apps.conversations.models import Conversation
from apps.governance.acting import acting
from apps.governance.models import Proposal
from apps.learning.extraction import extract
from apps.learning.models import Extraction
from apps.skills.models import Skill
from apps.tenants.identity import system_actor
from tests.actions.conversing import prompt, reply, say, tool
from tests.browser.conftest import Console
from tests.browser.flowing import look, prefix, visit
from tests.browser.test_console import sign_in
from tests.factories import World, make_persona, make_world
from tests.standing_in import StandIn
from tests.surfaces.console.browsing import list_of, page_of

pytestmark = pytest.mark.browser


def solved(world: World, standin: StandIn) -> Conversation:
    """A customer's matter, settled in two turns and with a tool."""
    noted = tool("update_customer_profile", preferences="Prefers email.")
    standin.play(reply("I am sorry. How may we reach you?"), noted, reply("I have noted that we write by email."))
    say(world, "My parcel arrived broken, I want a refund.", standin, thread="solved", customer="http:ann")
    turn = say(world, "By email, please.", standin, thread="solved", customer="http:ann")
    with acting(world.operator):
        return Conversation.objects.get(pk=turn.conversation_id)


def drafted(world: World, conversation: Conversation, standin: StandIn) -> Skill:
    """What the extractor makes of it."""
    extractor = system_actor(world.tenant.pk, "extractor")
    found = extract(conversation.pk, actor=extractor, backend=standin.backend)
    assert found is not None
    with acting(world.operator):
        [skill] = Skill.objects.visible_to(world.operator).drafts()
    assert (found.verdict, found.skill_id) == (Extraction.Verdict.DRAFTED, skill.pk)
    return skill


def test_a_solved_conversation_becomes_a_skill_of_the_next_session_and_of_no_running_one(
    page: Page, console: Console, standin: StandIn
) -> None:
    """Resolved by page, extracted by the worker's own function, found in the inbox and approved by page.

    The model's next session lists the skill; what was open before goes on with the bytes it began with.
    """
    # R043, R062, R108, R115
    del console
    world = make_world("flow-skill")
    make_persona(world)
    conversation = solved(world, standin)
    say(world, "Are you open today?", standin, thread="running", customer="http:ben")
    begun = standin.requests()[-1]
    page.emulate_media(reduced_motion="reduce")
    sign_in(page, world)
    look(page)
    visit(page, page_of(conversation))
    page.locator("summary", has_text="Resolve").click()
    page.get_by_role("button", name="Resolve", exact=True).click()
    expect(page.get_by_text("Resolved. What can be learned from it")).to_be_visible()
    look(page)
    skill = drafted(world, conversation, standin)
    approve_from_the_inbox(page, skill)
    with acting(world.operator):
        assert Skill.objects.get(pk=skill.pk).status == Skill.Status.APPROVED
    listed = f"- {skill.name} (id: {skill.pk})"
    say(world, "And tomorrow?", standin, thread="running", customer="http:ben")
    running = standin.requests()[-1]
    say(world, "Hello, my parcel is broken.", standin, thread="next", customer="http:cleo")
    assert prefix(running) == prefix(begun)
    assert listed not in prompt(running)
    assert listed in prompt(standin.requests()[-1])


def approve_from_the_inbox(page: Page, skill: Skill) -> None:
    visit(page, list_of(Proposal))
    page.get_by_role("link", name=skill.name).first.click()
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_visible()
    look(page)
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_text("Applied. You can undo it for a minute.")).to_be_visible()
    look(page)
