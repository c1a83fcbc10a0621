"""Overlays, identity cards and rules over REST: people write them, an agent reads its own (R035, R052, R053, R186-R189)."""

from collections.abc import Callable
from typing import Any

import pytest

from apps.personas.actions import retire_rule
from apps.tenants.actions import create_agent
from tests.support.drivers.rest_client import RestClient
from tests.support.worlds.world import World, make_identity_card, make_overlay, make_rule

CARD = {"agent_key": "support", "business_name": "Acme", "assigned_name": "Grace Hopper", "timezone": "Europe/Madrid"}
NEW_ROWS: dict[str, dict[str, Any]] = {
    "overlays": {"agent_key": "support", "text": "Be formal."},
    "identity-cards": CARD,
    "rules": {"agent_key": "support", "text": "Never name a competitor."},
}
CHANGES: dict[str, dict[str, Any]] = {
    "overlays": {"text": "Be brief."},
    "identity-cards": {"hours": "Always."},
    "rules": {"text": "Be brief."},
}
MAKERS: dict[str, Callable[[World], Any]] = {
    "overlays": make_overlay,
    "identity-cards": make_identity_card,
    "rules": make_rule,
}


@pytest.mark.parametrize("noun", NEW_ROWS)
def test_person_writes_what_the_agent_then_reads(operator: RestClient, bot: RestClient, noun: str) -> None:
    # R035, R053, R186
    made = operator.post(f"{noun}/", NEW_ROWS[noun])
    assert (made.status, made.body["version"], made.body["taint"]) == (201, 1, "operator")
    assert made.body | NEW_ROWS[noun] == made.body
    changed = operator.patch(f"{noun}/{made.body['id']}/", {**CHANGES[noun], "version": 1, "reason": "Better."})
    assert (changed.status, changed.body["version"]) == (200, 2)
    [seen] = bot.get(f"{noun}/").body["results"]
    assert seen | CHANGES[noun] == seen


@pytest.mark.parametrize("noun", NEW_ROWS)
def test_agent_writes_none_of_it(world: World, bot: RestClient, noun: str) -> None:
    # R189
    row = MAKERS[noun](world)
    before = bot.get(f"{noun}/{row.pk}/").body
    for answer in (
        bot.post(f"{noun}/", NEW_ROWS[noun]),
        bot.patch(f"{noun}/{row.pk}/", CHANGES[noun]),
        bot.put(f"{noun}/{row.pk}/", {**before, **CHANGES[noun]}),
    ):
        assert (answer.status, answer.code) in {(403, "not_permitted"), (403, "nothing_permitted")}
    assert bot.delete(f"{noun}/{row.pk}/").status in {403, 405}
    assert bot.get(f"{noun}/{row.pk}/").body == before


@pytest.mark.parametrize("noun", NEW_ROWS)
def test_change_decided_on_an_old_version_is_stale(world: World, operator: RestClient, noun: str) -> None:
    row = MAKERS[noun](world)
    operator.patch(f"{noun}/{row.pk}/", CHANGES[noun])
    answer = operator.patch(f"{noun}/{row.pk}/", {**CHANGES[noun], "version": 1})
    assert (answer.status, answer.code, answer.body["current_version"]) == (409, "stale", 2)


@pytest.mark.parametrize("noun", ["overlays", "identity-cards"])
def test_agent_has_one_of_each(operator: RestClient, noun: str) -> None:
    assert operator.post(f"{noun}/", NEW_ROWS[noun]).status == 201
    assert operator.post(f"{noun}/", NEW_ROWS[noun]).code == "conflict"


@pytest.mark.parametrize("noun", ["overlays", "identity-cards"])
def test_overlay_and_card_are_of_an_agent(operator: RestClient, noun: str) -> None:
    body = {name: value for name, value in NEW_ROWS[noun].items() if name != "agent_key"}
    assert list(operator.post(f"{noun}/", body).body["errors"]) == ["agent_key"]
    assert operator.delete(f"{noun}/1/").status == 405


def test_empty_overlay_is_cleared(world: World, operator: RestClient) -> None:
    # R035
    overlay = make_overlay(world)
    assert operator.put(f"overlays/{overlay.pk}/", {"text": ""}).body["text"] == ""
    assert list(operator.put(f"overlays/{overlay.pk}/", {"reason": "x"}).body["errors"]) == ["text"]


def test_line_has_a_card_of_its_own(world: World, operator: RestClient) -> None:
    # R187
    own = make_identity_card(world)
    made = operator.post("identity-cards/", {**CARD, "line_key": "sales", "assigned_name": "Alan Turing"})
    assert (made.status, made.body["line_key"]) == (201, "sales")
    [found] = operator.get("identity-cards/?line_key=sales").body["results"]
    assert found["assigned_name"] == "Alan Turing"
    assert len(operator.get("identity-cards/?agent_key=support").body["results"]) == 2
    assert operator.patch(f"identity-cards/{own.pk}/", {"line_key": "sales"}).code == "not_permitted"


@pytest.mark.parametrize(("field", "value"), [("timezone", "Madrid"), ("locale", "Spanish?"), ("hours", "x" * 301)])
def test_card_refuses_what_it_cannot_carry(operator: RestClient, field: str, value: str) -> None:
    # R186
    answer = operator.post("identity-cards/", {**CARD, field: value})
    assert (answer.status, list(answer.body["errors"])) == (400, [field])


def test_put_of_a_card_wants_every_text(world: World, operator: RestClient) -> None:
    card = make_identity_card(world)
    answer = operator.put(f"identity-cards/{card.pk}/", {"hours": "Always."})
    missing = ["assigned_name", "assigned_title", "business_name", "locale", "signature", "timezone"]
    assert sorted(answer.body["errors"]) == missing


@pytest.mark.parametrize("named", [{}, {"agent_key": None}])
def test_rule_without_an_agent_is_the_organisations(
    world: World, operator: RestClient, bot: RestClient, named: dict[str, None]
) -> None:
    # R052, R188
    create_agent("sales", "Sales", actor=world.system)
    made = operator.post("rules/", {"text": "Never promise a date.", "position": 0, **named})
    assert (made.status, made.body["agent_key"], made.body["position"]) == (201, None, 0)
    operator.post("rules/", {"agent_key": "sales", "text": "Sales alone."})
    assert [rule["text"] for rule in bot.get("rules/").body["results"]] == ["Never promise a date."]
    assert list(operator.post("rules/", {"agent_key": "nobody", "text": "x"}).body["errors"]) == ["agent_key"]


@pytest.mark.parametrize(
    "body", [{"text": " "}, {"text": "x" * 2_001}, {"text": "x", "position": -1}, {"text": "x", "position": 2**31}]
)
def test_rule_refuses_what_cannot_be_kept(operator: RestClient, body: dict[str, object]) -> None:
    answer = operator.post("rules/", body)
    assert (answer.status, len(answer.body["errors"])) == (400, 1)


def test_rule_is_retired_and_restored(world: World, operator: RestClient) -> None:
    # R053
    rule = make_rule(world)
    both = operator.patch(f"rules/{rule.pk}/", {"status": "retired", "text": "Reworded.", "version": 1})
    assert (both.body["status"], both.body["text"], both.body["version"]) == ("retired", "Reworded.", 3)
    assert [row["id"] for row in operator.get("rules/?status=retired").body["results"]] == [rule.pk]
    assert operator.get("rules/?status=active&agent_key=support").body["results"] == []
    assert operator.put(f"rules/{rule.pk}/", {"text": "Back.", "status": "active"}).body["status"] == "active"
    assert operator.delete(f"rules/{rule.pk}/").status == 204
    assert operator.delete(f"rules/{rule.pk}/").code == "illegal_transition"
    assert operator.get(f"rules/{rule.pk}/").body["status"] == "retired"


def test_status_a_rule_has_already_changes_nothing(world: World, operator: RestClient) -> None:
    rule = retire_rule(make_rule(world), actor=world.operator)
    answer = operator.patch(f"rules/{rule.pk}/", {"status": "retired"})
    assert (answer.status, answer.body["version"]) == (200, rule.version)
