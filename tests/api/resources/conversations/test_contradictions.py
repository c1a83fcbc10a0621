"""Contradictions by REST: people read them and decide; agents have no business there."""

from tests.support.drivers.rest_client import RestClient
from tests.support.factories.contradictions import DISMISSAL_REASON, make_contradiction
from tests.support.worlds.world import World


def test_contradictions_are_listed_dismissed_and_opened_again(world: World, operator: RestClient) -> None:
    assert operator.get("contradictions/").body["results"] == []
    row = make_contradiction(world)
    [listed] = operator.get(f"contradictions/?agent_key={world.agent.key}&kind=amount&status=open").body["results"]
    assert (listed["first_type"], listed["second_location"], listed["last_seen_at"]) == ("rule", "the memory", None)
    assert operator.get("contradictions/?status=gone").body["results"] == []
    address = f"contradictions/{row.pk}/"
    assert operator.post(f"{address}dismiss/", {}).code == "invalid"
    assert operator.post(f"{address}dismiss/", {"reason": " "}).code == "invalid"
    assert operator.post(f"{address}dismiss/", {"reason": DISMISSAL_REASON, "version": 7}).code == "stale"
    dismissed = operator.post(f"{address}dismiss/", {"reason": DISMISSAL_REASON, "version": 1}).body
    assert (dismissed["status"], dismissed["dismissal_reason"], dismissed["decided_by"]) == (
        "dismissed",
        DISMISSAL_REASON,
        world.operator.label,
    )
    assert operator.post(f"{address}dismiss/", {"reason": DISMISSAL_REASON}).code == "illegal_transition"
    assert operator.post(f"{address}reopen/", {"reason": "It was not."}).body["status"] == "open"
    assert operator.post(f"{address}scan/", {}).status == 200


def test_an_agent_is_shown_none(world: World, bot: RestClient) -> None:  # R006
    row = make_contradiction(world)
    for way in (bot.get("contradictions/"), bot.get(f"contradictions/{row.pk}/")):
        assert way.status == 403
    assert bot.post(f"contradictions/{row.pk}/dismiss/", {"reason": DISMISSAL_REASON}).status == 403
