"""The playground in a real browser: a proposal is tried, heard while it is said, seen in the prompt, and forgotten."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, Route, expect

from apps.conversations.models import Conversation
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal, Taint
from apps.launcher.postgres import Postgres
from apps.personas.models import Persona
from apps.review.proposal_submission import submit_proposal
from apps.runtime.worker.sync_driver import answer_conversation
from tests.browser.conftest import DATABASE, SCREENSHOTS, BrowserConsole
from tests.browser.pages.test_console import sign_in
from tests.end_to_end.test_off_the_record import SENTINEL, tables_with
from tests.support.drivers.accessibility import UNFOLD, flaws_in_colour_schemes
from tests.support.drivers.console_client import page_of
from tests.support.drivers.conversation import reply
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.furnished_tenant import make_console_rows
from tests.support.worlds.world import World, make_world

pytestmark = pytest.mark.browser
STYLE = "Sing every answer, from the first word to the last."


def propose_style(world: World) -> Proposal:
    with acting_as(world.operator):
        persona = Persona.objects.get(agent=world.agent)
    content = {"style": STYLE}
    return submit_proposal(
        Proposal.Kind.PERSONA_FIELDS, persona.pk, actor=world.bot, content=content, taint=Taint.AGENT
    )


def trial_of(world: World) -> Conversation:
    with acting_as(world.operator):
        return Conversation.objects.trials_of(world.operator_user.pk).latest("pk")


def answer_trial(world: World, standin: StandIn, text: str) -> None:
    trial = trial_of(world)
    standin.play(reply(text))
    answer_conversation(trial.tenant_id, trial.pk, backend=standin.backend)


def fulfil_stream(route: Route) -> None:
    """A worker tells what is being said; how it gets there is proven without a browser."""
    body = f'retry: 60000\n\nevent: text\ndata: {{"turn_id": 1, "text": "La, la, {SENTINEL}"}}\n\n'
    route.fulfill(status=200, headers={"Content-Type": "text/event-stream"}, body=body)


def test_a_proposal_is_tried_heard_seen_and_forgotten(
    page: Page, console: BrowserConsole, standin: StandIn, postgres: Postgres
) -> None:
    world = console.full
    proposal = propose_style(world)
    page.route("**/stream*", fulfil_stream)
    sign_in(page, world)
    page.goto(page_of(proposal))
    page.get_by_role("link", name="Try it in the playground").click()
    page.get_by_label("Your message").fill(f"Where is my parcel {SENTINEL}?")
    page.get_by_role("button", name="Begin").click()
    expect(page.get_by_text("The agent is answering.")).to_be_visible()
    expect(page.locator("#talk-heard")).to_have_text(f"La, la, {SENTINEL}")
    answer_trial(world, standin, f"La, la, {SENTINEL}, it is on its way.")
    expect(page.get_by_text(f"La, la, {SENTINEL}, it is on its way.")).to_be_visible()
    expect(page.locator("#talk-heard")).to_be_hidden()
    expect(page.locator("#trial-prompt ins", has_text=STYLE)).to_be_visible()
    expect(page.get_by_role("link", name="Download what was said")).to_be_visible()
    assert "conversations_message" in tables_with(postgres, DATABASE)
    page.get_by_role("button", name="Forget").click()
    expect(page.get_by_text("Forgotten. The messages are erased")).to_be_visible()
    assert tables_with(postgres, DATABASE) == []


@pytest.mark.parametrize("width", [1440, 400])
def test_the_pages_of_the_playground_are_accessible(
    page: Page, console: BrowserConsole, standin: StandIn, width: int
) -> None:
    page.route("**/stream*", fulfil_stream)
    page.set_viewport_size({"width": width, "height": 900})
    world = make_world(f"play-{width}")
    make_console_rows(world)
    proposal, found = propose_style(world), []
    sign_in(page, world)
    for name in ("playground-empty", "playground-trial", "playground"):
        page.goto(f"{reverse('admin:playground')}?proposal={proposal.pk}&agent={world.agent.pk}")
        if name == "playground-trial":
            page.get_by_label("Your message").fill("Where is my parcel?")
            page.get_by_role("button", name="Begin").click()
            answer_trial(world, standin, "La, la, it is on its way.")
            expect(page.get_by_text("La, la, it is on its way.")).to_be_visible()
        page.evaluate(UNFOLD)
        found += flaws_in_colour_schemes(page, name, SCREENSHOTS / f"playground-{width}" / name)
    assert found == []
