"""An agent's token in a real browser: no page opens to it, no form is taken from it, and no word is served on the way."""

from collections.abc import Iterator

import pytest
from django.db.models import CharField, TextField
from django.urls import reverse
from playwright.sync_api import Browser, Page, Response

from apps.console.site import ADMINS_BY_MODEL, site
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord
from tests.browser.conftest import SCREENSHOTS, BrowserConsole
from tests.console.accounts.test_second_factor import LOGIN, list_page_paths
from tests.support.drivers.accessibility import accessibility_flaws
from tests.support.drivers.console_client import decision_of, list_of, page_of, paths
from tests.support.worlds.world import World

pytestmark = [pytest.mark.browser, pytest.mark.slow]
# Shorter ones stand in any page.
MIN_TEXT_CHARACTERS = 12


@pytest.fixture
def bearing(chromium: Browser, console: BrowserConsole) -> Iterator[Page]:
    """A window that sends an agent's token with everything it asks for."""
    sent = {"Authorization": f"Bearer {console.full.token}"}
    with chromium.new_context(base_url=console.url, extra_http_headers=sent) as context:
        yield context.new_page()


def list_tenant_texts(world: World) -> set[str]:
    """Every name and sentence in the rows that the console shows of a tenant."""
    found = {world.tenant.name, world.agent.key, world.operator_user.username}
    with acting_as(world.admin):
        for model in ADMINS_BY_MODEL:
            kept = [field.attname for field in model._meta.concrete_fields if isinstance(field, CharField | TextField)]
            for row in model._default_manager.order_by("-pk")[:100].values_list(*kept):
                found |= {
                    text for text in row if isinstance(text, str) and " " in text and len(text) >= MIN_TEXT_CHARACTERS
                }
    return found


def forms(world: World) -> dict[str, None]:
    """Where the forms of the console are sent: every decision on a row, its edit form, and the one for a new row."""
    found: dict[str, None] = {}
    with acting_as(world.admin):
        for model, pages in site._registry.items():
            row = model._default_manager.order_by("-pk").first()
            if row is not None:
                found |= dict.fromkeys([page_of(row), *(decision_of(row, button.name) for button in pages.buttons)])
            found[f"{list_of(model)}add/"] = None
    return found


def count_change_records(world: World) -> int:
    with acting_as(world.admin):
        return ChangeRecord.objects.count()


def assert_token_refused(bearing: Page, world: World) -> None:
    """What is posted with the token, its form's own secret included, is not taken either."""
    bearing.goto(LOGIN)
    secret = bearing.locator("[name=csrfmiddlewaretoken]").first.input_value()
    every, before = forms(world), count_change_records(world)
    assert len(every) > 150
    for path in every:
        typed: dict[str, str | float | bool] = {"csrfmiddlewaretoken": secret, "reason": "Because.", "read_at": "1"}
        answer = bearing.request.post(path, form=typed, max_redirects=0)
        assert (answer.status, LOGIN in answer.headers.get("location", "")) == (302, True), path
    assert count_change_records(world) == before


def test_an_agents_token_opens_no_page_and_is_served_no_word(bearing: Page, console: BrowserConsole) -> None:
    world = console.full
    held = list_tenant_texts(world)
    assert len(held) > 50
    # The token is a good one: the API answers to it.
    assert bearing.request.get("/api/v1/skills/").ok
    hops: list[Response] = []
    bearing.on("response", lambda answer: hops.append(answer) if answer.request.is_navigation_request() else None)
    every = dict.fromkeys(["/", *paths(world).values(), *list_page_paths()])
    assert len(every) > 250
    other_statuses: dict[str, int] = {}
    for path in every:
        hops.clear()
        answer = bearing.goto(path, wait_until="domcontentloaded")
        assert answer is not None
        assert {hop.status for hop in hops[:-1]} <= {301, 302, 303}, path
        if (answer.status, bearing.url.split("?")[0]) != (200, f"{console.url}{LOGIN}"):
            other_statuses[path] = answer.status
        served = answer.text()
        assert [text for text in held if text in served] == [], path
    assert_token_refused(bearing, world)
    # Whoever is invited has no account yet; nobody was invited by this link.
    assert other_statuses == {reverse("admin:invitation", args=["1"]): 410}
    assert {each["name"] for each in bearing.context.cookies()} == {"csrftoken"}
    assert accessibility_flaws(bearing, "login") == []
    bearing.screenshot(path=SCREENSHOTS / "token.png")
