"""An agent's token in a real browser: no page opens to it, no form is taken from it, and no word is served on the way."""

from collections.abc import Iterator

import pytest
from django.db.models import CharField, TextField
from django.urls import reverse
from playwright.sync_api import Browser, Page, Response

from apps.console.site import PAGES, site
from apps.governance.database.actor_transaction import acting
from apps.governance.models import ChangeRecord
from tests.browser.conftest import SCREENSHOTS, Console
from tests.console.accounts.test_second_factor import LOGIN, places
from tests.support.drivers.accessibility import flaws
from tests.support.drivers.console_client import decision_of, list_of, page_of, paths
from tests.support.worlds.world import World

pytestmark = [pytest.mark.browser, pytest.mark.slow]
# Shorter ones stand in any page.
TELLING = 12


@pytest.fixture
def bearing(chromium: Browser, console: Console) -> Iterator[Page]:
    """A window that sends an agent's token with everything it asks for."""
    sent = {"Authorization": f"Bearer {console.full.token}"}
    with chromium.new_context(base_url=console.url, extra_http_headers=sent) as context:
        yield context.new_page()


def words_held(world: World) -> set[str]:
    """Every name and sentence in the rows that the console shows of a tenant."""
    found = {world.tenant.name, world.agent.key, world.operator_user.username}
    with acting(world.admin):
        for model in PAGES:
            kept = [field.attname for field in model._meta.concrete_fields if isinstance(field, CharField | TextField)]
            for row in model._default_manager.order_by("-pk")[:100].values_list(*kept):
                found |= {text for text in row if isinstance(text, str) and " " in text and len(text) >= TELLING}
    return found


def forms(world: World) -> dict[str, None]:
    """Where the forms of the console are sent: every decision on a row, its edit form, and the one for a new row."""
    found: dict[str, None] = {}
    with acting(world.admin):
        for model, pages in site._registry.items():
            row = model._default_manager.order_by("-pk").first()
            if row is not None:
                found |= dict.fromkeys([page_of(row), *(decision_of(row, button.name) for button in pages.buttons)])
            found[f"{list_of(model)}add/"] = None
    return found


def written(world: World) -> int:
    with acting(world.admin):
        return ChangeRecord.objects.count()


def assert_nothing_is_taken(bearing: Page, world: World) -> None:
    """What is posted with the token, its form's own secret included, is not taken either."""
    bearing.goto(LOGIN)
    secret = bearing.locator("[name=csrfmiddlewaretoken]").first.input_value()
    every, before = forms(world), written(world)
    assert len(every) > 150
    for path in every:
        typed: dict[str, str | float | bool] = {"csrfmiddlewaretoken": secret, "reason": "Because.", "read_at": "1"}
        answer = bearing.request.post(path, form=typed, max_redirects=0)
        assert (answer.status, LOGIN in answer.headers.get("location", "")) == (302, True), path
    assert written(world) == before


def test_an_agents_token_opens_no_page_and_is_served_no_word(bearing: Page, console: Console) -> None:
    world = console.full
    held = words_held(world)
    assert len(held) > 50
    # The token is a good one: the API answers to it.
    assert bearing.request.get("/api/v1/skills/").ok
    hops: list[Response] = []
    bearing.on("response", lambda answer: hops.append(answer) if answer.request.is_navigation_request() else None)
    every = dict.fromkeys(["/", *paths(world).values(), *places()])
    assert len(every) > 250
    elsewhere: dict[str, int] = {}
    for path in every:
        hops.clear()
        answer = bearing.goto(path, wait_until="domcontentloaded")
        assert answer is not None
        assert {hop.status for hop in hops[:-1]} <= {301, 302, 303}, path
        if (answer.status, bearing.url.split("?")[0]) != (200, f"{console.url}{LOGIN}"):
            elsewhere[path] = answer.status
        served = answer.text()
        assert [text for text in held if text in served] == [], path
    assert_nothing_is_taken(bearing, world)
    # Whoever is invited has no account yet; nobody was invited by this link.
    assert elsewhere == {reverse("admin:invitation", args=["1"]): 410}
    assert {each["name"] for each in bearing.context.cookies()} == {"csrftoken"}
    assert flaws(bearing, "login") == []
    bearing.screenshot(path=SCREENSHOTS / "token.png")
