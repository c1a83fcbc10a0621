"""What admins decide for a tenant and its agents' tokens, by REST as in the console."""

import hmac
from datetime import datetime
from secrets import token_hex
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone
from pytest_django import Settings

from apps.governance.actors import Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord
from apps.governance.policy.policy_table import POLICY, Act, default_grants
from apps.learning.distillation.models import TierClock
from apps.learning.distillation.tier_editing import run_tier
from apps.learning.distillation.tier_runs import create_clocks
from apps.learning.distillation.tier_schedule import Tier
from apps.tenants.authentication.actor_resolution import agent_of_token
from apps.tenants.models import AgentToken, TenantSettings
from tests.support.drivers.rest_client import RestClient
from tests.support.worlds.world import World


@pytest.fixture
def address(world: World) -> str:
    with acting_as(world.admin):
        return f"settings/{TenantSettings.objects.visible_to(world.admin).get().pk}/"


def test_members_read_the_settings_and_no_agent_does(operator: RestClient, bot: RestClient, address: str) -> None:
    [row] = operator.get("settings/").body["results"]
    assert set(POLICY[Act.SETTINGS_AMEND].fields) < set(row)
    assert (row["has_proof_key"], row["requests_per_minute"], row["timezone"]) == (False, None, "UTC")
    assert operator.get(address).body == row
    assert (bot.get("settings/").code, bot.get(address).code) == ("not_permitted", "not_permitted")
    assert bot.ask("PATCH", address, {"timezone": "Europe/Berlin"}).code == "not_permitted"


def test_an_admin_changes_whatever_the_console_does(
    world: World, admin: RestClient, operator: RestClient, address: str
) -> None:
    before = admin.get(address)
    sent = {
        "requests_per_minute": 50,
        "day_budget_micro_usd": 7,
        "is_second_factor_required": False,
        "slot_order": "contract_first",
    }
    changed = admin.ask("PATCH", address, sent, If_Match=before.headers["ETag"])
    assert (changed.status, {name: changed.body[name] for name in sent}) == (200, sent)
    stale = admin.ask("PATCH", address, {"timezone": "Europe/Berlin"}, If_Match=before.headers["ETag"])
    assert (stale.status, stale.body["current_version"]) == (412, changed.body["version"])
    nulled = admin.ask("PATCH", address, {"requests_per_minute": None, "day_budget_micro_usd": None})
    assert (nulled.body["requests_per_minute"], nulled.body["day_budget_micro_usd"]) == (None, None)
    assert operator.ask("PATCH", address, {"timezone": "Europe/Berlin"}).code == "not_permitted"
    with acting_as(world.admin):
        assert ChangeRecord.objects.filter(act=Act.SETTINGS_AMEND).count() == 2


def test_next_runs_of_memory_tiers_follow_a_new_time_zone(world: World, admin: RestClient, address: str) -> None:
    # R170
    create_clocks(world.agent, actor=world.system)
    requested, repeated, due = Tier.MID, Tier.LONG, Tier.SHORT
    before = next_runs(world)
    zone = "Asia/Kathmandu"
    assert admin.ask("PATCH", address, {"timezone": zone}).status == 200
    assert next_runs(world) == {tier: before[tier].replace(tzinfo=ZoneInfo(zone)) for tier in Tier}
    with acting_as(world.system):
        clocks = TierClock.objects.filter(agent=world.agent)
        clocks.filter(tier=repeated).update(failures=1)
        clocks.filter(tier=due).update(next_run_at=timezone.now())
    run_tier(world.agent.pk, requested.value, actor=world.operator)
    kept = next_runs(world)
    assert admin.ask("PATCH", address, {"timezone": "America/Lima"}).status == 200
    assert next_runs(world) == kept


def next_runs(world: World) -> dict[Tier, datetime]:
    with acting_as(world.operator):
        return {Tier(clock.tier): clock.next_run_at for clock in TierClock.objects.filter(agent=world.agent)}


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"timezone": "Mars/Olympus"}, "timezone"),
        ({"slot_order": "sideways"}, "slot_order"),
        ({"high_risk_reviewers": 3}, "high_risk_reviewers"),
        ({"proposal_days": "30"}, "proposal_days"),
        ({"messages_per_minute": None}, "messages_per_minute"),
        ({"requests_per_minute": 0}, "requests_per_minute"),
        ({"requests_per_minute": 301}, "requests_per_minute"),
        ({"requests_per_minute_of_tenant": 501}, "requests_per_minute_of_tenant"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_what_cannot_be_taken_is_refused_by_its_field(
    admin: RestClient, address: str, settings: Settings, sent: dict[str, object], field: str
) -> None:
    settings.REQUESTS_PER_MINUTE, settings.REQUESTS_PER_MINUTE_OF_TENANT = 300, 500
    refused = admin.ask("PATCH", address, sent)
    assert (refused.status, refused.code, list(refused.body["errors"])) == (400, "invalid", [field])


def test_a_token_is_issued_opens_and_is_revoked(
    world: World, admin: RestClient, operator: RestClient, bot: RestClient
) -> None:
    asked = {"agent_key": world.agent.key, "name": "LangGraph", "valid_days": 30}
    made = admin.post("tokens/", asked)
    assert (made.status, made.headers["Cache-Control"]) == (201, "private, no-store")
    assert made.body["secret"].startswith(made.body["prefix"])
    assert agent_of_token(made.body["secret"]) == world.bot
    path = f"tokens/{made.body['id']}/"
    listed = {row["id"]: row for row in operator.get("tokens/?search=LangGraph").body["results"]}
    assert listed == {made.body["id"]: {**operator.get(path).body}}
    assert not {"secret", "digest"} & set(listed[made.body["id"]])
    assert operator.post("tokens/", asked).code == operator.post(f"{path}revoke/", {}).code == "not_permitted"
    assert (
        bot.post("tokens/", asked).code
        == bot.get("tokens/").code
        == bot.post(f"{path}rotate/", {}).code
        == "not_permitted"
    )
    assert admin.post(f"{path}revoke/", {}).body["revoked_at"]
    assert agent_of_token(made.body["secret"]) is None
    assert admin.post(f"{path}rotate/", {}).code == "conflict"


def test_a_rotated_token_goes_on_beside_the_one_that_follows(world: World, admin: RestClient) -> None:
    first = admin.post("tokens/", {"agent_key": world.agent.key, "name": "bot"}).body
    second = admin.post(f"tokens/{first['id']}/rotate/", {}).body
    assert (second["name"], second["id"] != first["id"]) == ("bot", True)
    assert agent_of_token(first["secret"]) == agent_of_token(second["secret"]) == world.bot


def test_sent_again_under_its_key_nothing_is_issued_and_no_secret_is_told(world: World, admin: RestClient) -> None:
    asked = {"agent_key": world.agent.key, "name": "twice"}
    once, again = (admin.post("tokens/", asked, Idempotency_Key="k-1") for _ in range(2))
    assert (again.status, again.body["id"], again.headers["Idempotent-Replayed"]) == (201, once.body["id"], "true")
    assert "secret" not in again.body
    path = f"tokens/{once.body['id']}/rotate/"
    turned, again = (admin.post(path, {}, Idempotency_Key="k-2") for _ in range(2))
    assert (again.body["id"], "secret" in again.body) == (turned.body["id"], False)
    with acting_as(world.admin):
        assert AgentToken.objects.visible_to(world.admin).filter(name="twice").count() == 2


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"agent_key": "nobody", "name": "x"}, "agent_key"),
        ({"agent_key": "support", "name": "x", "valid_days": 366}, "valid_days"),
        ({"agent_key": "support", "name": "x" * 81}, "name"),
        ({"agent_key": "support", "name": ""}, "name"),
        ({"agent_key": "support"}, "name"),
    ],
)
def test_a_token_that_cannot_be_is_refused_by_its_field(admin: RestClient, sent: dict[str, object], field: str) -> None:
    refused = admin.post("tokens/", sent)
    assert (refused.status, refused.code, list(refused.body["errors"])) == (400, "invalid", [field])


def test_grants_on_an_agent_are_written_hold_and_are_withdrawn(
    world: World, admin: RestClient, operator: RestClient, bot: RestClient
) -> None:
    asked = {"agent_key": world.agent.key, "role": "agent", "permissions": ["skill_fetch"]}
    assert bot.post("notes/", {"kind": "task", "text": "Call."}).status == 201
    made = admin.post("grants/", asked)
    assert (made.status, made.body["role"], made.body["permissions"]) == (201, "agent", ["skill_fetch"])
    assert bot.post("notes/", {"kind": "task", "text": "Call."}).code == "not_permitted"
    path = f"grants/{made.body['id']}/"
    assert operator.get("grants/?role=agent").body["results"] == [operator.get(path).body]
    assert operator.ask("PATCH", path, {"permissions": []}).code == operator.ask("DELETE", path).code == "not_permitted"
    assert bot.get("grants/").code == bot.post("grants/", asked).code == "not_permitted"
    noting = sorted(name for name in default_grants(Role.AGENT) if name.startswith("note_write"))
    assert admin.ask("PATCH", path, {"permissions": noting}).body["permissions"] == noting
    assert bot.post("notes/", {"kind": "task", "text": "Call."}).status == 201
    assert admin.ask("DELETE", path).status == 204
    assert admin.get(path).status == 404


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"permissions": ["skill_approve"]}, "permissions"),
        ({"permissions": ["no_such_act"]}, "permissions"),
        ({"permissions": "skill_fetch"}, "permissions"),
        ({"permissions": [3]}, "permissions.0"),
        ({"role": "admin"}, "role"),
        ({"agent_key": "nobody"}, "agent_key"),
    ],
)
def test_no_grant_lifts_the_floor_and_nonsense_is_named(admin: RestClient, sent: dict[str, object], field: str) -> None:
    refused = admin.post("grants/", {"agent_key": "support", "role": "agent", "permissions": [], **sent})
    assert (refused.status, refused.code, list(refused.body["errors"])) == (400, "invalid", [field])


def test_the_key_for_signatures_goes_in_and_comes_out_in_no_answer(
    world: World, admin: RestClient, operator: RestClient, bot: RestClient, address: str
) -> None:
    first, second = "a-key-of-thirty-two-characters-1", "a-key-of-thirty-two-characters-2"
    path, customer = f"{address}rotate-proof-key/", "http:abc123"
    for asker in (operator, bot):
        assert asker.post(path, {"key": first}).code == asker.post(path, {}).code == "not_permitted"
    kept, again = (admin.post(path, {"key": first}, Idempotency_Key="k") for _ in range(2))
    assert (kept.status, kept.body["has_proof_key"], again.body) == (200, True, kept.body)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert first not in str(kept.body) + str(admin.get(address).body)
    assert is_proven(bot, customer, first)
    assert not is_proven(bot, customer, second)
    late = admin.post(path, {"key": second, "version": kept.body["version"] - 1})
    assert (late.code, late.body["current_version"]) == ("stale", kept.body["version"])
    assert admin.post(path, {"key": second, "version": kept.body["version"]}).status == 200
    assert is_proven(bot, customer, first)
    assert is_proven(bot, customer, second)
    assert admin.post(path, {"key": first, "keep_former": False}).status == 200
    assert not is_proven(bot, customer, second)
    assert admin.post(path, {"key": ""}).body["has_proof_key"] is False
    assert not is_proven(bot, customer, first)
    for sent in ({"key": "short"}, {"key": 7}, {"keep_former": True}, {}):
        assert list(admin.post(path, sent).body["errors"]) == ["key"]
    with acting_as(world.admin):
        assert ChangeRecord.objects.filter(act=Act.SETTINGS_ROTATE_PROOF_KEY).count() == 4


def is_proven(bot: RestClient, customer: str, key: str) -> bool:
    """Whether a message of the customer is taken that is signed with this key."""
    signed = hmac.new(key.encode(), customer.encode(), "sha256").hexdigest()
    sent = {"conversation_key": "t", "end_user_key": customer, "user_hash": signed, "text": "Hello?"}
    return bot.post("messages/", sent, Idempotency_Key=token_hex()).status == 202
