"""The pictures of docs/console.md: `make screenshots` takes them anew, the tests see that each can be taken."""

import os
from collections.abc import Mapping
from typing import Final

import pytest
from django.urls import reverse
from playwright.sync_api import Page

from apps.desk.models import Draft
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal, Taint
from apps.launcher.data_folders import PROJECT
from apps.personas.models import Persona
from apps.review.proposal_submission import submit_proposal
from apps.runtime.models import Session
from tests.browser.conftest import SCREENSHOTS, BrowserConsole
from tests.browser.pages.test_console import sign_in
from tests.support.drivers.accessibility import accessibility_flaws
from tests.support.drivers.console_client import list_of, page_of
from tests.support.factories.desk import make_escalation, make_waiting_draft
from tests.support.factories.explained_replies import ExplainedReply, explain
from tests.support.servers.standin_model import StandIn, standin, standing_in
from tests.support.worlds.world import make_persona, make_profile, make_skill, make_world

__all__ = ["standin", "standing_in"]
pytestmark = pytest.mark.browser

PICTURES_FOLDER: Final = PROJECT / "docs" / "pictures"
OUTPUT_FOLDER: Final = PICTURES_FOLDER if os.environ.get("TAKE_PICTURES") == "1" else SCREENSHOTS / "tour"
PICTURES: Final = ("home", "inbox", "proposal", "why", "playground", "search", "drafts", "health", "told")
LATE_SKILL = {
    "name": "parcel-later-than-promised",
    "title": "Parcel later than promised",
    "description": "A parcel has not come by the day that was promised.",
    "body": (
        "## When to Use\nThe promised day is over and the parcel is not there.\n\n"
        "## Procedure\n1. Look the parcel up with `find_parcel`.\n2. Say where it is and which day is promised now.\n"
        "3. After three days without a scan, open a trace.\n\n"
        "## Pitfalls\nNever promise a refund before the trace is answered.\n\n"
        "## Verification\nThe customer has a new day, or the number of a trace.\n"
    ),
}


@pytest.fixture(scope="module")
def shop(console: BrowserConsole, standing_in: StandIn) -> ExplainedReply:
    """A shop on a morning: an answer that can be explained, and something of each kind to decide."""
    del console
    standing_in.forget()
    world = make_world("lantern-books")
    make_persona(world, identity="You are Ada of Lantern Books, a bookshop.", style="Warm and concise. No jargon.")
    make_profile(world)
    explained = explain(world, standing_in)
    make_skill(world, actor=world.bot, **LATE_SKILL)
    with acting_as(world.operator):
        persona = Persona.objects.get(agent=world.agent)
    style = {"style": "Warm and concise. No jargon. Greet by name where one is known."}
    submit_proposal(Proposal.Kind.PERSONA_FIELDS, persona.pk, actor=world.bot, content=style, taint=Taint.AGENT)
    make_waiting_draft(world, text="Your parcel is on its way and should be with you on Thursday.")
    make_escalation(world)
    return explained


def page_urls(shop: ExplainedReply) -> Mapping[str, str]:
    """Where each picture is taken."""
    reader = shop.world.operator
    with acting_as(reader):
        change = Proposal.objects.visible_to(reader).open().get(kind=Proposal.Kind.PERSONA_FIELDS)
        assert Session.objects.filter(conversation=shop.conversation).exists()
    return {
        "home": reverse("admin:index"),
        "inbox": list_of(Proposal),
        "proposal": page_of(change),
        "why": page_of(shop.conversation),
        "playground": f"{reverse('admin:playground')}?proposal={change.pk}",
        "search": f"{reverse('admin:search')}?q=parcel",
        "drafts": list_of(Draft),
        "health": reverse("admin:health"),
        "told": reverse("admin:notification_preferences"),
    }


def test_every_picture_of_the_tour_is_taken(page: Page, shop: ExplainedReply) -> None:
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.set_viewport_size({"width": 1280, "height": 860})
    sign_in(page, shop.world, admin=True)
    for name, path in page_urls(shop).items():
        page.goto(path)
        if name == "why":
            page.get_by_role("link", name="Why?").click()
        assert accessibility_flaws(page, name) == []
        OUTPUT_FOLDER.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=OUTPUT_FOLDER / f"{name}.png")


def test_the_tour_shows_each_of_them() -> None:
    tour_text = (PROJECT / "docs" / "console.md").read_text()
    assert [name for name in PICTURES if f"](pictures/{name}.png)" not in tour_text] == []
    assert sorted(path.stem for path in PICTURES_FOLDER.glob("*.png")) == sorted(PICTURES)
