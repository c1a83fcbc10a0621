"""Conversations over REST: ended once, by agent or person (R024, R108, R109)."""

import pytest

from tests.support.drivers.rest_client import RestClient
from tests.support.worlds.world import World, make_conversation


@pytest.mark.parametrize("who", ["bot", "operator"])
def test_conversation_is_resolved_over_a_plain_update(world: World, request: pytest.FixtureRequest, who: str) -> None:
    # R024, R108
    conversation = make_conversation(world)
    asker: RestClient = request.getfixturevalue(who)
    answer = asker.patch(f"conversations/{conversation.pk}/", {"status": "resolved", "outcome": "solved"})
    assert (answer.status, answer.body["status"], answer.body["outcome"]) == (200, "resolved", "solved")
    assert answer.body["resolved_at"]


@pytest.mark.parametrize("who", ["bot", "operator"])
@pytest.mark.parametrize("to", ["resolved", "abandoned"])
def test_conversation_is_ended_by_a_transition(world: World, request: pytest.FixtureRequest, who: str, to: str) -> None:
    conversation = make_conversation(world)
    answer = request.getfixturevalue(who).post(f"conversations/{conversation.pk}/transition/", {"to": to})
    assert (answer.status, answer.body["status"], answer.body["outcome"]) == (200, to, "unknown")


@pytest.mark.parametrize("first", ["resolved", "abandoned"])
@pytest.mark.parametrize("then", ["open", "resolved", "abandoned"])
def test_ended_conversation_stays_ended(world: World, bot: RestClient, first: str, then: str) -> None:
    # R108, Z-15
    path = f"conversations/{make_conversation(world).pk}/"
    assert bot.patch(path, {"status": first}).status == 200
    for answer in (bot.patch(path, {"status": then}), bot.post(f"{path}transition/", {"to": then})):
        assert (answer.status, answer.code, answer.body["allowed"]) == (400, "illegal_transition", [])
    assert bot.get(path).body["status"] == first


def test_only_a_resolution_has_an_outcome(world: World, bot: RestClient) -> None:
    path = f"conversations/{make_conversation(world).pk}/"
    assert list(bot.patch(path, {"status": "abandoned", "outcome": "solved"}).body["errors"]) == ["outcome"]
    assert list(bot.patch(path, {"outcome": "solved"}).body["errors"]) == ["status"]
    assert list(bot.patch(path, {"status": "resolved", "outcome": "great"}).body["errors"]) == ["outcome"]
    assert bot.get(path).body["status"] == "open"


def test_what_a_conversation_is_cannot_be_written(world: World, bot: RestClient) -> None:
    path = f"conversations/{make_conversation(world).pk}/"
    answer = bot.patch(path, {"status": "resolved", "end_user_key": "http:other", "channel": "sms"})
    assert answer.body["ignored_fields"] == ["channel", "end_user_key"]
    assert answer.body["end_user_key"] == "http:abc123"
    assert bot.delete(path).status == 405
    assert bot.post("conversations/", {"status": "open"}).status == 405


def test_stale_ending_is_refused(world: World, bot: RestClient) -> None:
    path = f"conversations/{make_conversation(world).pk}/"
    answer = bot.patch(path, {"status": "resolved", "version": 7})
    assert (answer.status, answer.code, answer.body["current_version"]) == (409, "stale", 1)


def test_conversations_are_filtered(world: World, bot: RestClient) -> None:
    mine = make_conversation(world, "http:one")
    ended = make_conversation(world, "http:two")
    bot.patch(f"conversations/{ended.pk}/", {"status": "abandoned"})

    def ids(query: str) -> list[int]:
        return [row["id"] for row in bot.get(f"conversations/?{query}").body["results"]]

    assert ids("status=open") == [mine.pk]
    assert ids("end_user_key=http:two") == [ended.pk]
    assert ids(f"conversation_key={mine.conversation_key}&channel=http") == [mine.pk]
    assert ids("origin=imported") == []
