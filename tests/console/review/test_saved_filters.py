"""The inbox's saved filters: saved by a plain form, standing above the list, deleted by their makers."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal
from apps.personas.actions import propose_sections
from apps.review.models import SavedFilter
from apps.review.rules import FILTERS_KEPT
from tests.support.drivers.console_client import form_values, list_of, page_text, page_words, signed_in
from tests.support.factories.saved_filters import HIGH_RISK_QUERY, make_filter
from tests.support.worlds.world import World, make_member, make_persona, make_skill, make_world

INBOX = list_of(Proposal)
SAVE_FILTER_PAGE = reverse("admin:save_filter")


def save_filter(client: Client, query: str, **typed: object) -> Any:
    """Narrow the inbox, fill in the form above it, send it."""
    values = form_values(client.get(f"{INBOX}?{query}").content.decode(), SAVE_FILTER_PAGE)
    return client.post(
        SAVE_FILTER_PAGE, values | {"name": "High tier"} | {name: str(value) for name, value in typed.items()}
    )


def post_forged_filter(client: Client, query: str, name: str = "Forged") -> Any:
    """Send the form with what no page put into it."""
    return client.post(SAVE_FILTER_PAGE, {"query": query, "name": name})


def delete_path(saved: SavedFilter) -> str:
    return reverse("admin:delete_filter", args=[saved.pk])


def filters_of(world: World) -> list[SavedFilter]:
    with acting_as(world.operator):
        return list(SavedFilter.objects.visible_to(world.operator))


def inbox_rows(client: Client, address: str) -> list[str]:
    """The rows that the inbox shows, in their order."""
    return rows_of(client.get(address))


def rows_of(response: Any) -> list[str]:
    return [str(proposal.pk) for proposal in response.context_data["cl"].result_list]


@pytest.fixture
def two(world: World) -> None:
    """One proposal of high risk, and one draft."""
    propose_sections(make_persona(world), actor=world.bot, values={"avoid": "Never name a carrier."})
    make_skill(world)


@pytest.mark.slow
@pytest.mark.usefixtures("two")
def test_a_filter_is_saved_and_its_link_gives_the_same_rows(world: World, operator: Client) -> None:
    query = "risk__exact=high&tab=waiting&o=-3&q=e&p=1"
    saved = save_filter(operator, query)
    # The order is kept by its column's name: another release may number the columns differently.
    address = f"{INBOX}?o=-risk_shown&q=e&risk__exact=high&tab=waiting"
    assert (saved.status_code, saved["Location"]) == (303, address)
    assert "Saved. “High tier” is now above the inbox." in page_words(operator.get(INBOX))
    [row] = filters_of(world)
    assert (row.name, row.query, row.is_shared) == (
        "High tier",
        "o=-risk_shown&q=e&risk__exact=high&tab=waiting",
        False,
    )
    link = f'<a href="{address}"'
    assert link in page_text(operator.get(INBOX))
    assert 1 == len(inbox_rows(operator, address)) < len(inbox_rows(operator, INBOX))
    assert inbox_rows(operator, address) == inbox_rows(operator, f"{INBOX}?{query}")
    # Whoever stands on it, in whatever order the address says it, is told so.
    chosen = " ".join(page_text(operator.get(f"{INBOX}?{query}")).split())
    assert f'{link} aria-current="page">High tier</a>' in chosen
    assert f'{link} aria-current="page"' not in " ".join(page_text(operator.get(INBOX)).split())


@pytest.mark.slow
def test_every_kind_of_narrowing_is_taken(world: World, operator: Client) -> None:
    make_skill(world)
    of_agent = f"agent__id__exact={world.agent.pk}"
    narrowed = ["tab=all", "kind=other", f"kind={Proposal.Kind.SKILL_NEW}", "claim=mine", "age=overdue", of_agent]
    narrowed += ["taint__exact=agent", "q=refund", "o=2.-4", "risk__exact=high&risk__exact=low"]
    for number, query in enumerate(narrowed):
        assert save_filter(operator, query, name=f"Filter {number}").status_code == 303, query
    assert len(filters_of(world)) == 10


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "The inbox is not filtered."),
        ("p=3", "The inbox is not filtered."),
        ("rationale__contains=x", "The inbox has no filter “rationale__contains”."),
        ("risk__exact=high&next=//evil.example", "The inbox has no filter “next”."),
        ("tenant__id__exact=1", "The inbox has no filter “tenant__id__exact”."),
        ("_popup=1", "The inbox has no filter “_popup”."),
        ("risk__exact=huge", "The inbox cannot be filtered like that."),
        ("kind=nonsense", "The inbox cannot be filtered like that."),
        ("agent__id__exact=x", "The inbox cannot be filtered like that."),
        ("tab=nowhere", "The inbox cannot be filtered like that."),
        ("o=99", "The inbox cannot be filtered like that."),
        ("o=risk_shown.-nothing", "The inbox cannot be filtered like that."),
        ("o=first", "The inbox cannot be filtered like that."),
        ("q=a%00b", "The inbox cannot be filtered like that."),
        (f"q={'x' * 1000}", "take more than 1,000 characters"),
    ],
)
def test_what_the_inbox_does_not_take_is_refused(query: str, message: str, world: World, operator: Client) -> None:
    refused = post_forged_filter(operator, query, name="Mine <b>")
    assert refused.status_code == 422
    assert "Not saved." in page_words(refused)
    assert message in page_words(refused)
    assert 'value="Mine &lt;b&gt;"' in refused.content.decode()
    assert filters_of(world) == []


@pytest.mark.usefixtures("two")
def test_an_order_by_a_columns_name_is_that_by_its_number(operator: Client) -> None:
    upwards, downwards = inbox_rows(operator, f"{INBOX}?o=title"), inbox_rows(operator, f"{INBOX}?o=-title")
    assert len(upwards) == 2
    assert upwards == inbox_rows(operator, f"{INBOX}?o=1") == downwards[::-1]
    # A column that another release has no more orders nothing.
    assert inbox_rows(operator, f"{INBOX}?o=-gone") == inbox_rows(operator, INBOX)
    assert "sortpriority" not in page_text(operator.get(f"{INBOX}?o=-gone"))


@pytest.mark.usefixtures("two")
def test_a_refused_name_is_shown_again_above_the_same_rows(world: World, operator: Client) -> None:
    refused = save_filter(operator, HIGH_RISK_QUERY, name="x" * 61)
    assert refused.status_code == 422
    assert "The name has 61 characters; at most 60 are allowed. Shorten it." in page_words(refused)
    assert f'value="{"x" * 61}"' in refused.content.decode()
    assert form_values(refused.content.decode(), SAVE_FILTER_PAGE)["query"] == HIGH_RISK_QUERY
    assert len(rows_of(refused)) == 1
    assert save_filter(operator, HIGH_RISK_QUERY, name=" ").status_code == 422
    assert filters_of(world) == []
    # The links of that page lead back to the inbox.
    assert operator.get(f"{SAVE_FILTER_PAGE}?tab=all&p=2")["Location"] == f"{INBOX}?tab=all&p=2"
    assert operator.get(SAVE_FILTER_PAGE)["Location"] == INBOX


def test_a_name_twice_and_one_too_many_are_refused(world: World, operator: Client) -> None:
    make_filter(world)
    twice = save_filter(operator, "tab=all")
    assert (twice.status_code, "You already have a filter with this name." in page_words(twice)) == (409, True)
    for number in range(1, FILTERS_KEPT):
        make_filter(world, f"Filter {number}")
    beyond = save_filter(operator, "tab=all", name="One more")
    assert (beyond.status_code, "You have 20 saved filters" in page_words(beyond)) == (409, True)
    assert len(filters_of(world)) == FILTERS_KEPT


def test_shared_filters_are_marked_and_own_ones_are_nobodys_business(world: World, operator: Client) -> None:
    save_filter(operator, HIGH_RISK_QUERY, name="Ours", is_shared="on")
    save_filter(operator, "tab=all", name="Mine alone")
    assert "shared by you" in page_words(operator.get(INBOX))
    colleague = signed_in(make_member(world).user)
    shown = page_words(colleague.get(INBOX))
    assert f"Ours shared by {world.operator_user.username}" in shown
    assert "Mine alone" not in shown
    assert "Delete" not in shown
    stranger = signed_in(make_world().admin_user)
    assert "Ours" not in page_words(stranger.get(INBOX))


def test_only_the_maker_or_an_admin_deletes(world: World, operator: Client, admin: Client) -> None:
    ours, mine, kept = (
        make_filter(world, "Ours"),
        make_filter(world, "Mine", is_shared=False),
        make_filter(world, "Kept"),
    )
    colleague, stranger = signed_in(make_member(world).user), signed_in(make_world().admin_user)
    refused = colleague.post(delete_path(ours))
    assert refused.status_code == 403
    assert "Only the person who saved a shared filter, or an admin, can delete it." in page_words(refused)
    for client, saved in ((colleague, mine), (admin, mine), (stranger, ours), (stranger, mine)):
        assert client.post(delete_path(saved)).status_code == 404
    assert operator.get(delete_path(ours))["Location"] == INBOX
    assert len(filters_of(world)) == 3
    values = form_values(operator.get(f"{INBOX}?tab=all").content.decode(), delete_path(mine))
    deleted = operator.post(delete_path(mine), values)
    assert (deleted.status_code, deleted["Location"]) == (303, f"{INBOX}?tab=all")
    assert admin.post(delete_path(ours)).status_code == 303
    assert "Deleted “Ours”." in page_words(admin.get(INBOX))
    assert filters_of(world) == [kept]


def test_a_plain_inbox_offers_nothing_to_save(world: World, operator: Client) -> None:
    assert "Save this filter" not in page_text(operator.get(INBOX))
    assert "Save this filter" in page_text(operator.get(f"{INBOX}?tab=all"))


@pytest.mark.usefixtures("two")
def test_many_filters_cost_as_much_as_one(world: World, operator: Client) -> None:
    make_filter(world, "First", actor=world.admin)
    operator.get(INBOX)
    with CaptureQueriesContext(connection) as few:
        operator.get(INBOX)
    for number in range(FILTERS_KEPT):
        make_filter(world, f"Filter {number}")
    with CaptureQueriesContext(connection) as many:
        operator.get(INBOX)
    asking = [query for query in many if "review_savedfilter" in query["sql"]]
    assert (len(many), len(asking)) == (len(few), 1)
