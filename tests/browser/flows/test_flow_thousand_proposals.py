"""An inbox of a thousand proposals in a real browser, worked by keys alone: from its first page to its last."""

import psycopg
import pytest
from playwright.sync_api import Page, expect

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal
from apps.launcher.postgres import Postgres
from apps.tenants.actions import amend_settings
from apps.tenants.models import TenantSettings
from tests.browser.conftest import DATABASE, SCREENSHOTS, BrowserConsole
from tests.browser.pages.test_console import sign_in
from tests.browser.pages.test_keyboard_inbox import APPROVE, INBOX, REJECT, press_keys, states
from tests.support.drivers.accessibility import accessibility_flaws
from tests.support.drivers.browser_steps import go_by_shortcut
from tests.support.factories.bulk_decisions import make_drafts
from tests.support.worlds.world import World, make_persona, make_world

pytestmark = [pytest.mark.browser, pytest.mark.slow]
PROPOSAL_COUNT = 1_000
# Made as agents make them, the oldest and the newest; between them stand copies, each of a skill of its own.
REAL_PROPOSALS = 24
DECIDED_COUNT = 20
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


def raise_proposal_limit(world: World) -> None:
    """So many may wait of one agent."""
    with acting_as(world.admin):
        settings = TenantSettings.objects.visible_to(world.admin).get()
    amend_settings(settings, actor=world.admin, max_open_proposals=PROPOSAL_COUNT)


def copy_proposals(postgres: Postgres, proposal: Proposal, copies: int) -> None:
    """Copies that PostgreSQL makes, for a thousand lawful ones would cost minutes."""
    named = {"copies": copies, "proposal": proposal.pk, "skill": proposal.target_id}
    with psycopg.connect(postgres.url_for("postgres", database=DATABASE), autocommit=True) as superuser:
        superuser.execute("SET session_replication_role = replica")
        superuser.execute(_PROPOSALS.format(skills=_SKILLS).encode(), named)


def make_crowded_tenant(postgres: Postgres, key: str) -> tuple[World, list[Proposal], list[Proposal]]:
    """A tenant in whose inbox a thousand wait, with the oldest and the newest of them."""
    world = make_world(key)
    make_persona(world)
    raise_proposal_limit(world)
    oldest = make_drafts(world, REAL_PROPOSALS)
    copy_proposals(postgres, oldest[0], PROPOSAL_COUNT - 2 * REAL_PROPOSALS)
    return world, oldest, make_drafts(world, REAL_PROPOSALS)


def tab_to_page(page: Page, number: int) -> None:
    """From the last row of the list on, by Tab, to the link of one of its pages."""
    press_keys(page, "k")
    for _ in range(MOST_TABS):
        press_keys(page, "Tab")
        if page.evaluate("document.activeElement.textContent.trim()") == str(number):
            return
    raise AssertionError(f"No Tab of {MOST_TABS} led to page {number}.")


def state_changes(world: World, before: dict[str, int]) -> dict[str, int]:
    """How many more, or fewer, are in each state by now."""
    return {state: count - before.get(state, 0) for state, count in states(world).items()}


def test_a_thousand_are_worked_by_keys_from_the_first_page_to_the_last(
    page: Page, console: BrowserConsole, postgres: Postgres
) -> None:
    world, oldest, newest = make_crowded_tenant(postgres, "thousand")
    before = states(world)
    sign_in(page, world)
    go_by_shortcut(page, "i", f"**{INBOX}")
    expect(page.locator(".pc-tabs")).to_contain_text(f"Waiting {PROPOSAL_COUNT}")
    found = accessibility_flaws(page, "first page")
    page.screenshot(path=SCREENSHOTS / "thousand.png", full_page=True)
    press_keys(page, "j", "j", "k", "Enter")
    page.wait_for_url(f"**/{newest[-1].pk}/change/**")
    found += accessibility_flaws(page, "newest")
    for number in range(DECIDED_COUNT):
        with page.expect_navigation(wait_until="load"):
            press_keys(page, *(APPROVE, REJECT)[number % 2])
        expect(page).to_have_url(f"{console.url}{INBOX}{newest[-2 - number].pk}/change/")
    assert state_changes(world, before) == {
        "applied": DECIDED_COUNT // 2,
        "open": -DECIDED_COUNT,
        "rejected": DECIDED_COUNT // 2,
    }
    go_by_shortcut(page, "i", f"**{INBOX}")
    with page.expect_navigation(wait_until="load"):
        tab_to_page(page, 20)
        press_keys(page, "Enter")
    found += accessibility_flaws(page, "last page")
    press_keys(page, "k", "Enter")
    page.wait_for_url(f"**/{oldest[0].pk}/change/**")
    found += accessibility_flaws(page, "oldest")
    with page.expect_navigation(wait_until="load"):
        press_keys(page, *APPROVE)
    assert state_changes(world, before) == {
        "applied": DECIDED_COUNT // 2 + 1,
        "open": -DECIDED_COUNT - 1,
        "rejected": DECIDED_COUNT // 2,
    }
    assert found == []
