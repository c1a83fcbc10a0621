"""Versions, restoring and the prompt of a moment in a real browser, for every eye, wide and narrow."""

from datetime import datetime

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import FloatRect, Locator, Page, expect

from apps.governance.database.actor_transaction import acting_as
from apps.personas.actions import amend_persona, amend_rule
from apps.personas.models import Persona, StandingRule
from apps.restore.actions import make_checkpoint
from apps.skills.actions import deprecate_skill
from tests.browser.conftest import SCREENSHOTS, BrowserConsole
from tests.browser.pages.test_console import sign_in
from tests.support.drivers.accessibility import UNFOLD, flaws_in_colour_schemes, flaws_in_widths
from tests.support.drivers.console_client import page_of
from tests.support.worlds.world import World, make_rule, make_skill

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def make_persona_history(world: World) -> tuple[Persona, datetime]:
    """A persona with a past, and a moment before it and others changed."""
    with acting_as(world.operator):
        persona = Persona.objects.get()
    rule = make_rule(world, "Never name another shop.")
    amend_persona(persona, actor=world.operator, values={"style": "Warm, concise, and never in a hurry."})
    skill, moment = make_skill(world, "approved"), timezone.now()
    amend_persona(
        persona,
        actor=world.admin,
        values={"style": "Brisk, concise, and never in doubt.", "goals": "Close the ticket."},
        reason="The sale begins.",
    )
    amend_rule(rule, actor=world.admin, values={"text": "Always name the sale."})
    deprecate_skill(skill, actor=world.admin)
    return persona, moment


def list_wide_elements(page: Page) -> list[str]:
    """Tables of versions that have to be pushed aside to be read."""
    wider = "all => all.filter(each => each.scrollWidth > each.clientWidth + 1).map(each => each.ariaLabel)"
    return list(page.locator(".pc-scroll[aria-label='Versions']").evaluate_all(wider))


def test_versions_plan_and_prompt_are_accessible(page: Page, console: BrowserConsole) -> None:
    world = console.full
    persona, moment = make_persona_history(world)
    at = moment.isoformat().replace("+", "%2B")
    checkpoint = make_checkpoint("Before the sale", actor=world.operator, agent_id=world.agent.pk, moment=moment)
    sign_in(page, world, admin=True)
    found = []
    for name, path in {
        "persona-history": page_of(persona),
        "persona-compared": page_of(persona).replace("/change/", "/versions/?from=1&to=2"),
        "restore-empty": reverse("admin:restore"),
        "restore-plan": f"{reverse('admin:restore')}?agent={world.agent.pk}&at={at}",
        "checkpoint": page_of(checkpoint),
        "prompt-at": f"{reverse('admin:agent_prompt', args=[world.agent.pk])}?at={at}",
        "agent": page_of(world.agent),
    }.items():
        page.goto(path)
        page.evaluate(UNFOLD)
        for width in (1440, 420):
            page.set_viewport_size({"width": width, "height": 900})
            found += flaws_in_colour_schemes(page, f"{name} {width}", SCREENSHOTS / "versions" / f"{name}-{width}")
            found += [f"{name}: the {each} is wider than the window" for each in list_wide_elements(page)]
    assert found == []


def test_a_checkpoint_is_restored_by_mouse(page: Page, console: BrowserConsole) -> None:
    world = console.full
    _, moment = make_persona_history(world)
    checkpoint = make_checkpoint("Before it all", actor=world.operator, agent_id=world.agent.pk, moment=moment)
    sign_in(page, world, admin=True)
    page.goto(page_of(checkpoint))
    page.get_by_role("button", name="See what restoring would change").click()
    expect(page.get_by_text("It was approved then. A restore approves nothing").first).to_be_visible()
    page.get_by_role("button", name="Restore what is ticked").click()
    expect(page.get_by_text("The state before it is the checkpoint")).to_be_visible()
    with acting_as(world.operator):
        assert Persona.objects.get().style == "Warm, concise, and never in a hurry."


@pytest.mark.parametrize("width", [1400, 400])
def test_a_running_agent_is_brought_back_from_its_page_but_for_one_row(
    page: Page, console: BrowserConsole, width: int
) -> None:
    world = console.full
    _, moment = make_persona_history(world)
    sign_in(page, world, admin=True)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(page_of(world.agent))
    page.get_by_role("link", name="Restore it to a moment").click()
    page.get_by_role("button", name="An hour ago").click()
    # Before anything was written, everything would go.
    expect(page.get_by_text("Archive it").first).to_be_visible()
    page.goto(f"{reverse('admin:restore')}?agent={world.agent.pk}&at={moment.isoformat().replace('+', '%2B')}")
    page.get_by_role("checkbox", name="Bring back: Rule").first.uncheck()
    page.get_by_label("Why").fill("The sale is over.")
    page.evaluate(UNFOLD)
    assert flaws_in_widths(page, "restore", SCREENSHOTS / "restore", [width]) == []
    page.get_by_role("button", name="Restore what is ticked").click()
    expect(page.get_by_text("The state before it is the checkpoint")).to_be_visible()
    with acting_as(world.operator):
        assert Persona.objects.get().style == "Warm, concise, and never in a hurry."
        assert StandingRule.objects.filter(text="Always name the sale.", status="active").exists()


@pytest.mark.parametrize("width", [1400, 400])
def test_what_was_and_what_is_are_read_one_below_the_other(page: Page, console: BrowserConsole, width: int) -> None:
    persona, _ = make_persona_history(console.full)
    sign_in(page, console.full)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(page_of(persona).replace("/change/", "/versions/?from=2&to=3"))
    frame = page.locator(".pc-diff-frame").first
    was, now = frame.locator(".pc-changed > .pc-before").first, frame.locator(".pc-changed > .pc-after").first
    choice = frame.get_by_role("checkbox", name="One below the other")
    if width > 1000:
        assert bounding_box_of(was)["y"] == bounding_box_of(now)["y"]
        choice.check()
    else:
        expect(choice).to_be_hidden()
    assert bounding_box_of(was)["y"] + bounding_box_of(was)["height"] <= bounding_box_of(now)["y"] + 1
    assert bounding_box_of(was)["x"] == bounding_box_of(now)["x"]
    assert was.evaluate("each => getComputedStyle(each, '::before').content").startswith('"\N{MINUS SIGN}')
    assert now.evaluate("each => getComputedStyle(each, '::before').content").startswith('"+')
    assert flaws_in_colour_schemes(page, "one below the other", SCREENSHOTS / f"one-below-{width}") == []


def bounding_box_of(place: Locator) -> FloatRect:
    found = place.bounding_box()
    assert found is not None
    return found
