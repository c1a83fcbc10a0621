"""The pages of contradictions: both sides beside each other, where each is edited, and what people say of it."""

from datetime import date

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.governance.database.actor_transaction import acting_as
from apps.learning.contradictions.models import Contradiction, ContradictionScan
from apps.learning.contradictions.scan_runs import ScanExtent, claim_scan, end_scan
from apps.runtime.contradiction_scan import scan_agent
from tests.support.drivers.console_client import decide, list_of, page_of, page_text, page_words
from tests.support.factories.contradictions import DISMISSAL_REASON, contradictions_of, make_contradiction
from tests.support.worlds.world import World, make_persona, make_skill

pytestmark = pytest.mark.django_db


def run_scan(world: World) -> None:
    assert scan_agent(world.agent.pk, actor=world.system, now=timezone.now(), at_once=True) is not None


def test_a_list_without_contradictions_says_when_one_looks(operator: Client) -> None:
    assert "looked through every night" in page_words(operator.get(list_of(Contradiction)))


@pytest.mark.slow
def test_both_sides_lead_to_where_they_are_edited(world: World, operator: Client) -> None:
    persona = make_persona(world, avoid="Discounts over 10 %.")
    body = "## When to Use\nA customer complains.\n\n## Procedure\n1. Offer a discount of 25 %.\n"
    skill = make_skill(world, "approved", body=body)
    run_scan(world)
    [row] = contradictions_of(world)
    listed = page_words(operator.get(list_of(Contradiction)))
    assert "Contradictions 1" in listed, "the sidebar counts what is open"
    page = operator.get(page_of(row))
    for words in ("Discounts over 10 %", "Offer a discount of 25 %", "the persona (avoid)", f"the skill {skill.name}"):
        assert words in listed
        assert words in page_words(page)
    for side in (persona, skill):
        for shown in (page, operator.get(list_of(Contradiction))):
            assert f'href="{page_of(side)}"' in page_text(shown)
    assert page_of(row) in page_text(operator.get(page_of(skill)))
    assert decide(operator, row, "dismiss", reason=DISMISSAL_REASON).status_code < 400
    assert DISMISSAL_REASON in page_words(operator.get(page_of(row)))
    assert page_of(row) not in page_text(operator.get(page_of(skill)))
    assert "Discounts over 10 %" not in page_words(operator.get(list_of(Contradiction)))
    assert decide(operator, row, "reopen").status_code < 400
    assert contradictions_of(world)[0].status == "open"


def test_a_dismissal_without_a_reason_is_shown_again(world: World, operator: Client) -> None:
    row = make_contradiction(world)
    decide(operator, row, "dismiss", reason="")
    assert contradictions_of(world)[0].status == "open"


def test_a_tool_that_is_not_allowed_has_one_side(world: World, operator: Client) -> None:
    make_persona(world, goals="Call `find_parcel` often.")
    run_scan(world)
    [row] = contradictions_of(world)
    assert "may not call find_parcel" in page_words(operator.get(page_of(row)))
    assert "names find_parcel" in page_words(operator.get(list_of(Contradiction)))


def test_a_look_is_asked_for_on_the_page_of_the_agent_and_of_a_contradiction(world: World, operator: Client) -> None:
    row = make_contradiction(world)
    for about in (row, world.agent):
        assert decide(operator, about, "look").status_code < 400
        assert "Everything the agent follows is compared" in page_words(operator.get(page_of(row)))
        with acting_as(world.operator):
            assert ContradictionScan.objects.get().requested_at is not None


def test_a_page_of_many_costs_no_more_queries_than_one_of_a_few(world: World, operator: Client) -> None:
    make_contradiction(world)
    few = queries_of(operator)
    for _ in range(30):
        make_contradiction(world)
    assert queries_of(operator) == few


def queries_of(client: Client) -> int:
    with CaptureQueriesContext(connection) as made:
        assert client.get(list_of(Contradiction)).status_code == 200
    return len(made)


def test_a_look_that_reached_its_limit_says_so(world: World, operator: Client) -> None:
    row = make_contradiction(world)
    held = claim_scan(world.agent.pk, date(2026, 1, 2), actor=world.system, at_once=True)
    assert held is not None
    end_scan(held, ScanExtent(7, 200_000, is_complete=False), actor=world.system)
    assert "The latest look reached its limit: it compared 200000 pairs" in page_words(operator.get(page_of(row)))


def test_what_is_gone_says_when_it_was_last_seen(world: World, operator: Client) -> None:
    row = make_contradiction(world, "gone")
    shown = page_words(operator.get(page_of(row)))
    assert "Last seen" in shown
    assert "by the look that runs now" not in shown
