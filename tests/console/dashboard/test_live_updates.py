"""What an open list or page asks from time to time: numbers alone, of what its reader may see."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.console.dashboard.live_updates import WATCHED_LISTS, live_url_name
from apps.desk.models import Draft, Escalation
from apps.governance.models import Proposal
from tests.support.drivers.console_client import list_of, page_of
from tests.support.factories.desk import make_escalation, make_waiting_draft
from tests.support.worlds.world import World, make_skill, make_world

NO_UPDATES = {"count": 0, "newest": None}


def fetch_updates(client: Client, model: type, row: str | int = "") -> dict[str, object]:
    answer = client.get(reverse(f"admin:{live_url_name(model)}"), {"row": row})
    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]
    updates: dict[str, object] = answer.json()
    return updates


def test_a_list_hears_of_what_came(world: World, operator: Client) -> None:
    assert (
        fetch_updates(operator, Draft)
        == fetch_updates(operator, Escalation)
        == fetch_updates(operator, Proposal)
        == NO_UPDATES
    )
    first, second, question = make_waiting_draft(world), make_waiting_draft(world), make_escalation(world)
    make_skill(world)
    assert fetch_updates(operator, Draft) == {"count": 2, "newest": second.pk}
    assert fetch_updates(operator, Escalation) == {"count": 1, "newest": question.pk}
    assert fetch_updates(operator, Proposal)["count"] == 1
    assert fetch_updates(operator, Draft, first.pk) == {"count": 2, "newest": second.pk, "version": first.version}


@pytest.mark.parametrize("row", ["x", "-1", "٣" * 30, "9" * 30])
def test_what_names_no_row_is_told_of_none(world: World, operator: Client, row: str) -> None:
    assert fetch_updates(operator, Draft, row).get("version") is None


def test_nothing_of_another_tenant_is_counted_or_told(world: World, operator: Client) -> None:
    other = make_world()
    theirs = make_waiting_draft(other)
    assert fetch_updates(operator, Draft, theirs.pk) == {**NO_UPDATES, "version": None}


def test_anonymous_visitors_are_sent_to_the_login_and_nothing_is_written(client: Client, operator: Client) -> None:
    for model in WATCHED_LISTS:
        address = reverse(f"admin:{live_url_name(model)}")
        assert client.get(address).status_code == 302
        assert operator.post(address).status_code == 405


def test_it_costs_the_same_however_much_waits(world: World, operator: Client) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as asked:
            fetch_updates(operator, Draft, 1)
        return len(asked)

    make_waiting_draft(world)
    statements()
    few = statements()
    for _ in range(5):
        make_waiting_draft(world)
    assert statements() == few


def test_lists_and_pages_say_where_they_ask(world: World, operator: Client) -> None:
    draft = make_waiting_draft(world)
    address = reverse(f"admin:{live_url_name(Draft)}")
    assert f'data-live="{address}"' in operator.get(list_of(Draft)).content.decode()
    page = operator.get(page_of(draft)).content.decode()
    assert f'data-live="{address}?row={draft.pk}"' in page
    assert f'data-version="{draft.version}"' in page
    assert "data-live" not in operator.get(page_of(world.agent)).content.decode()
