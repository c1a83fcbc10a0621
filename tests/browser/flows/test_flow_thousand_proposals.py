"""An inbox of a thousand proposals in a real browser, worked by keys alone: from its first page to its last."""

import psycopg
import pytest
from playwright.sync_api import Page, expect

from apps.governance.database.actor_transaction import acting
from apps.governance.models import Proposal
from apps.launcher.postgres import Postgres
from apps.tenants.actions import amend_settings
from apps.tenants.models import TenantSettings
from tests.browser.conftest import DATABASE, SCREENSHOTS, Console
from tests.browser.pages.test_console import sign_in
from tests.browser.pages.test_keyboard_inbox import APPROVE, INBOX, REJECT, press, states
from tests.support.drivers.accessibility import flaws
from tests.support.drivers.browser_steps import go_by_keys
from tests.support.factories.bulk_decisions import make_drafts
from tests.support.worlds.world import World, make_persona, make_world

pytestmark = [pytest.mark.browser, pytest.mark.slow]
THOUSAND = 1_000
# Made as agents make them, the oldest and the newest; between them stand copies, each of a skill of its own.
LAWFUL = 24
WORKED = 20
MOST_TABS = 80
_SKILLS = """
INSERT INTO skills_skill SELECT row.* FROM skills_skill AS copied, generate_series(1, %(copies)s) AS number,
    jsonb_populate_record(copied, jsonb_build_object('id', nextval(pg_get_serial_sequence('skills_skill', 'id')),
        'name', 'copied-' || number)) AS row WHERE copied.id = %(skill)s
RETURNING id, name
"""
_PROPOSALS = """
WITH made AS ({skills})
INSERT INTO governance_proposal SELECT row.* FROM governance_proposal AS copied, made,
    jsonb_populate_record(copied, jsonb_build_object('id', nextval(pg_get_serial_sequence('governance_proposal', 'id')),
        'target_id', made.id, 'target_label', made.name)) AS row WHERE copied.id = %(proposal)s
"""


def let_in(world: World) -> None:
    """So many may wait of one agent."""
    with acting(world.admin):
        settings = TenantSettings.objects.visible_to(world.admin).get()
    amend_settings(settings, actor=world.admin, max_open_proposals=THOUSAND)


def crowd(postgres: Postgres, proposal: Proposal, copies: int) -> None:
    """Copies that PostgreSQL makes, for a thousand lawful ones would cost minutes."""
    named = {"copies": copies, "proposal": proposal.pk, "skill": proposal.target_id}
    with psycopg.connect(postgres.url_for("postgres", database=DATABASE), autocommit=True) as superuser:
        superuser.execute("SET session_replication_role = replica")
        superuser.execute(_PROPOSALS.format(skills=_SKILLS).encode(), named)


def crowded(postgres: Postgres, key: str) -> tuple[World, list[Proposal], list[Proposal]]:
    """A tenant in whose inbox a thousand wait, with the oldest and the newest of them."""
    world = make_world(key)
    make_persona(world)
    let_in(world)
    oldest = make_drafts(world, LAWFUL)
    crowd(postgres, oldest[0], THOUSAND - 2 * LAWFUL)
    return world, oldest, make_drafts(world, LAWFUL)


def tab_to_page(page: Page, number: int) -> None:
    """From the last row of the list on, by Tab, to the link of one of its pages."""
    press(page, "k")
    for _ in range(MOST_TABS):
        press(page, "Tab")
        if page.evaluate("document.activeElement.textContent.trim()") == str(number):
            return
    raise AssertionError(f"No Tab of {MOST_TABS} led to page {number}.")


def gained(world: World, before: dict[str, int]) -> dict[str, int]:
    """How many more, or fewer, are in each state by now."""
    return {state: count - before.get(state, 0) for state, count in states(world).items()}


def test_a_thousand_are_worked_by_keys_from_the_first_page_to_the_last(
    page: Page, console: Console, postgres: Postgres
) -> None:
    world, oldest, newest = crowded(postgres, "thousand")
    before = states(world)
    sign_in(page, world)
    go_by_keys(page, "i", f"**{INBOX}")
    expect(page.locator(".pc-tabs")).to_contain_text(f"Waiting {THOUSAND}")
    found = flaws(page, "first page")
    page.screenshot(path=SCREENSHOTS / "thousand.png", full_page=True)
    press(page, "j", "j", "k", "Enter")
    page.wait_for_url(f"**/{newest[-1].pk}/change/**")
    found += flaws(page, "newest")
    for number in range(WORKED):
        with page.expect_navigation(wait_until="load"):
            press(page, *(APPROVE, REJECT)[number % 2])
        expect(page).to_have_url(f"{console.url}{INBOX}{newest[-2 - number].pk}/change/")
    assert gained(world, before) == {"applied": WORKED // 2, "open": -WORKED, "rejected": WORKED // 2}
    go_by_keys(page, "i", f"**{INBOX}")
    with page.expect_navigation(wait_until="load"):
        tab_to_page(page, 20)
        press(page, "Enter")
    found += flaws(page, "last page")
    press(page, "k", "Enter")
    page.wait_for_url(f"**/{oldest[0].pk}/change/**")
    found += flaws(page, "oldest")
    with page.expect_navigation(wait_until="load"):
        press(page, *APPROVE)
    assert gained(world, before) == {"applied": WORKED // 2 + 1, "open": -WORKED - 1, "rejected": WORKED // 2}
    assert found == []
