"""Search by REST: what the console finds, in pages, for people alone."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.conversations.actions import import_conversation
from apps.conversations.models import Conversation
from apps.conversations.rules import ConversationLine
from apps.memory.actions import amend_profile
from tests.support.drivers.rest_client import RestClient
from tests.support.worlds.world import World, make_block, make_memory, make_profile, make_skill, make_world


def search_rows(asker: RestClient, query: str) -> list[dict[str, Any]]:
    answer = asker.get(f"search/?{query}")
    assert answer.status == 200, answer.body
    rows: list[dict[str, Any]] = answer.body["results"]
    return rows


def make_memory_lines(world: World, *texts: str) -> None:
    """Lines of memory that hold the words."""
    make_memory(world, "\n".join(texts))


def test_words_are_found_wherever_they_stand_and_marked(world: World, operator: RestClient) -> None:
    skill = make_skill(world, name="refunds", body="## Procedure\nPay the <b>refund</b> & say so.")
    make_memory_lines(world, "Refunds take a week.")
    hits = search_rows(operator, "q=refund")
    assert {hit["kind"] for hit in hits} >= {"skill", "memory_line", "proposal"}
    [hit] = search_rows(operator, "q=refund&kind=skill")
    assert (hit["id"], hit["agent_key"], hit["conversation_id"]) == (skill.pk, "support", None)
    assert [piece["text"] for piece in hit["excerpt"] if piece["is_hit"]][:1] == ["refunds"]
    assert search_rows(operator, "q=nobodysaysthis") == []


def test_messages_are_found_with_their_conversation(world: World, operator: RestClient) -> None:
    # What is off the record is in no index: tests/tenants/test_full_text_search.py.
    lines = [ConversationLine("customer", "Where is my zebra?"), ConversationLine("agent", "On its way.")]
    thread = import_conversation(
        world.agent.pk, actor=world.operator, transcript_id="t", lines=lines, outcome=Conversation.Outcome.SOLVED
    )
    assert thread is not None
    [hit] = search_rows(operator, "q=zebra")
    assert (hit["kind"], hit["conversation_id"], hit["agent_key"]) == ("message", thread.pk, "support")


def test_what_is_noted_of_a_customer_is_found_with_their_profile(world: World, operator: RestClient) -> None:
    # R006, R179
    profile = make_profile(world, preferences="- Drinks zebra milk.", notes="Lives in Ghent.")
    make_profile(make_world(), notes="Keeps a zebra.")
    [hit] = search_rows(operator, "q=zebra&kind=profile_line")
    assert (hit["profile_id"], hit["agent_key"], hit["conversation_id"]) == (profile.pk, None, None)
    assert search_rows(operator, "q=zebra") == [hit]
    amend_profile(profile, actor=world.operator, values={"preferences": ""})
    assert search_rows(operator, "q=zebra") == []


def test_hits_come_in_pages_the_newest_first(world: World, operator: RestClient) -> None:
    make_memory_lines(world, *(f"Zebra number {number}." for number in range(5)))
    make_block(world, "Zebra")
    seen: list[tuple[str, int]] = []
    address: str | None = "/api/v1/search/?q=zebra&page_size=2"
    while address:
        page = operator.get(address.removeprefix("http://testserver")).body
        assert len(page["results"]) <= 2
        seen += [(hit["kind"], hit["id"]) for hit in page["results"]]
        address = page["next"]
    assert len(seen) == len(set(seen)) == 6
    assert seen == [(hit["kind"], hit["id"]) for hit in search_rows(operator, "q=zebra")]


def test_days_narrow_what_is_found(world: World, operator: RestClient) -> None:
    make_memory_lines(world, "Zebra.")
    today = timezone.now().date()
    before, after = (today - timedelta(days=2)).isoformat(), (today + timedelta(days=2)).isoformat()
    assert len(search_rows(operator, f"q=zebra&from={before}&to={after}")) == 1
    assert search_rows(operator, f"q=zebra&to={before}") == []
    assert search_rows(operator, f"q=zebra&from={after}") == []


def test_search_is_for_people_and_of_their_own_tenant(world: World, bot: RestClient, operator: RestClient) -> None:
    # R006
    make_memory_lines(make_world(), "Zebra.")
    assert search_rows(operator, "q=zebra") == []
    assert bot.get("search/?q=zebra").code == "not_permitted"


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("", "q"),
        ("q=a", "q"),
        ("q=-zebra", "q"),
        ("q=" + "a" * 201, "q"),
        ("q=zebra%00", "q"),
        ("q=zebra&kind=customer", "kind"),
        ("q=zebra&from=today", "from"),
        ("q=zebra&to=0001-01-01", "to"),
        ("q=zebra&cursor=x", "cursor"),
        ("q=zebra&cursor=MjAyNi0wMS0wMSBsaW5lIDE=", "cursor"),
        ("q=zebra&words=x", "words"),
    ],
)
def test_what_cannot_be_looked_for_is_refused(world: World, operator: RestClient, query: str, named: str) -> None:
    make_memory_lines(world, "Zebra.")
    refused = operator.get(f"search/?{query}")
    assert (refused.status, list(refused.body["errors"])) == (400, [named])


def test_a_page_of_many_hits_costs_what_one_of_few_does(world: World, operator: RestClient) -> None:
    def cost(word: str, hits: int) -> int:
        with CaptureQueriesContext(connection) as captured:
            assert len(search_rows(operator, f"q={word}&kind=memory_line")) == hits
        return len(captured)

    make_memory_lines(world, *(f"Zebra number {number}." for number in range(30)), "Giraffe.")
    assert cost("zebra", 30) == cost("giraffe", 1)
