"""`manage.py seed_demo`: what the demo needs, made once, with a fresh token each time."""

import json
from typing import Any

import pytest
from pytest_django import Settings

from apps.demo.demo_data import REVIEWER
from apps.demo.example_prices import PRICE_REASON
from apps.governance.actors import Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord
from apps.governance.policy.policy_table import Act
from apps.tenants.accounts.people import deactivate_and_sign_out
from apps.tenants.authentication.actor_resolution import agent_of_token, member_by_username, system_actor_of_tenant
from apps.tenants.models import Agent, AgentToken, Membership, ModelPrice, User
from tests.support.drivers.management_command import run_command

pytestmark = pytest.mark.django_db

KEYS = ["operator_login", "operator_password", "login_link_path", "token", "tenant", "agent"]


def seed() -> dict[str, Any]:
    seen = run_command("seed_demo", "--json")
    assert seen.failure == ""
    made: dict[str, Any] = json.loads(seen.out)
    assert list(made) == KEYS
    return made


def test_first_run_makes_the_tenant_its_agents_and_an_operator_who_can_sign_in() -> None:
    made = seed()
    user = User.objects.get(username=made["operator_login"])
    assert user.check_password(made["operator_password"])
    assert made["login_link_path"] is None
    system = system_actor_of_tenant(made["tenant"])
    assert system is not None
    member = member_by_username(user.username, system.tenant_id)
    assert member is not None
    assert member.role is Role.ADMIN
    with acting_as(system):
        assert Agent.objects.visible_to(system).count() == 8


def test_password_is_shown_once_and_later_runs_give_a_link() -> None:
    before = User.objects.filter(is_service=False).count()
    first, second = seed(), seed()
    assert second["operator_password"] is None
    assert second["login_link_path"].startswith("/")
    assert User.objects.get(username=first["operator_login"]).check_password(first["operator_password"])
    assert User.objects.filter(is_service=False).count() == before + 2


def test_token_is_fresh_each_time_and_the_one_before_stops() -> None:
    first, second = seed(), seed()
    actor = agent_of_token(second["token"])
    assert agent_of_token(first["token"]) is None
    assert actor is not None
    assert actor.agent_id
    with acting_as(actor):
        assert Agent.objects.visible_to(actor).get(pk=actor.agent_id).key == second["agent"]
    system = system_actor_of_tenant("acme")
    assert system is not None
    with acting_as(system):
        live = AgentToken.objects.visible_to(system).get(revoked_at=None)
        assert live.expires_at is not None
        assert 0 < (live.expires_at - live.created_at).total_seconds() <= 86_400


def test_whom_an_admin_deactivated_the_next_run_does_not_let_in_again() -> None:
    seed()
    system = system_actor_of_tenant("acme")
    assert system is not None
    with acting_as(system):
        reviewer = Membership.objects.visible_to(system).get(user__username=REVIEWER)
    deactivate_and_sign_out(reviewer, actor=system)
    seed()
    assert member_by_username(REVIEWER, system.tenant_id) is None


def test_without_json_each_value_stands_on_a_line_with_its_name() -> None:
    lines = run_command("seed_demo").out.splitlines()
    assert [line.split("  ")[0] for line in lines] == [key.replace("_", " ") for key in KEYS]


def prices() -> list[ModelPrice]:
    system = system_actor_of_tenant("acme")
    assert system is not None
    with acting_as(system):
        return list(ModelPrice.objects.visible_to(system))


def test_prices_are_set_where_they_are_asked_for_and_none_is_there(settings: Settings) -> None:
    seed()
    assert prices() == []
    assert run_command("seed_demo", "--example-prices").failure == ""
    [price] = prices()
    assert (price.model, price.input_micro_usd, price.output_micro_usd) == (
        settings.DEFAULT_MODEL,
        2_000_000,
        10_000_000,
    )
    settings.DEFAULT_MODEL = "house-model"
    assert run_command("seed_demo", "--example-prices").failure == ""
    assert prices() == [price]


def test_a_model_on_no_list_has_an_example_price_that_says_what_it_is(settings: Settings) -> None:
    settings.DEFAULT_MODEL = "house-model"
    assert run_command("seed_demo", "--example-prices").failure == ""
    [price] = prices()
    assert (price.model, price.input_micro_usd) == ("house-model", 2_000_000)
    system = system_actor_of_tenant("acme")
    assert system is not None
    with acting_as(system):
        record = ChangeRecord.objects.select_related("text").get(act=Act.PRICE_SET.value)
        assert record.text.reason == PRICE_REASON
