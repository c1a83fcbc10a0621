"""Agents are made and changed by REST as in the console: by admins, and by no agent."""

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord
from apps.governance.policy.policy_table import POLICY, Act
from tests.support.drivers.rest_client import RestClient
from tests.support.factories.endpoints import make_endpoint
from tests.support.worlds.world import World, make_world


def test_an_admin_makes_an_agent_once(world: World, admin: RestClient, operator: RestClient, bot: RestClient) -> None:
    asked = {"agent_key": "sales", "title": "Sales", "has_learning": False}
    made = admin.post("agents/", asked)
    assert (made.status, made.body["agent_key"], made.body["title"], made.body["has_learning"]) == (
        201,
        "sales",
        "Sales",
        False,
    )
    assert admin.post("agents/", asked).code == "conflict"
    assert operator.post("agents/", asked).code == bot.post("agents/", asked).code == "not_permitted"
    refused = admin.post("agents/", {"agent_key": "No Slug", "title": "Sales"})
    assert (refused.code, list(refused.body["errors"])) == ("invalid", ["agent_key"])
    token = admin.post("tokens/", {"agent_key": "sales", "name": "first"})
    assert token.status == 201


def test_whatever_the_act_governs_can_be_sent_and_is_changed(world: World, admin: RestClient) -> None:
    row = admin.get(f"agents/{world.agent.pk}/").body
    columns = {name for name in POLICY[Act.AGENT_AMEND].fields if "endpoint" not in name}
    assert columns < set(row)
    other = {
        name: not value if isinstance(value, bool) else value for name, value in row.items() if name in columns
    } | {
        "send_mode": "suggest",
        "debounce_seconds": 0,
        "turn_budget_micro_usd": 9,
        "model": "house-1",
        "context_tier": 2,
    }
    changed = admin.ask("PUT", f"agents/{world.agent.pk}/", {**row, **other})
    assert (changed.status, {name: changed.body[name] for name in columns}) == (200, other)
    stale = admin.ask("PATCH", f"agents/{world.agent.pk}/", {"title": "Late", "version": row["version"]})
    assert (stale.status, stale.code, stale.body["current_version"]) == (409, "stale", changed.body["version"])
    with acting_as(world.admin):
        assert ChangeRecord.objects.filter(act=Act.AGENT_AMEND).count() == 1


def test_an_endpoint_is_chosen_among_the_tenants_own(world: World, admin: RestClient) -> None:
    own, theirs = make_endpoint(world), make_endpoint(make_world())
    path = f"agents/{world.agent.pk}/"
    for name in ("endpoint", "distil_endpoint_mid", "distil_endpoint_long"):
        assert admin.ask("PATCH", path, {name: own.pk}).body[f"{name}_id"] == own.pk
        refused = admin.ask("PATCH", path, {name: theirs.pk})
        assert (refused.code, list(refused.body["errors"])) == ("invalid", [name])
        assert admin.ask("PATCH", path, {name: None}).body[f"{name}_id"] is None


@pytest.mark.parametrize(
    ("sent", "field"),
    [({"context_tier": 5}, "context_tier"), ({"max_steps": 0}, "max_steps"), ({"send_mode": "loud"}, "send_mode")],
)
def test_what_an_agent_cannot_be_is_refused_by_its_field(
    world: World, admin: RestClient, sent: dict[str, object], field: str
) -> None:
    refused = admin.ask("PATCH", f"agents/{world.agent.pk}/", sent)
    assert (refused.status, list(refused.body["errors"])) == (400, [field])


def test_neither_operators_nor_the_agent_itself_change_it(world: World, operator: RestClient, bot: RestClient) -> None:
    endpoint = make_endpoint(world)
    for asker in (operator, bot):
        for sent in ({"title": "Mine"}, {"endpoint": endpoint.pk}, {"endpoint": None}):
            assert asker.ask("PATCH", f"agents/{world.agent.pk}/", sent).code == "not_permitted"
