"""How often a tenant lets its agents and members ask: its own limits, below those of the installation, wherever they ask."""

import psycopg
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from psycopg.errors import CheckViolation
from pytest_django import Settings

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Invalid, NotPermitted
from apps.governance.models import ChangeRecord
from apps.governance.policy.policy_table import Act
from apps.launcher.postgres import Postgres
from apps.tenants.actions import amend_settings
from apps.tenants.models import TenantSettings
from tests.support.drivers.console_client import page_of, page_text, page_words, save_form, signed_in
from tests.support.drivers.mcp_client import McpTestServer, mcp_server
from tests.support.drivers.rest_client import RestClient, agent_client
from tests.support.rate_limit_window import window
from tests.support.worlds.world import World, make_world

__all__ = ["mcp_server", "window"]

EACH, ALL = "requests_per_minute", "requests_per_minute_of_tenant"


def settings_of(world: World) -> TenantSettings:
    with acting_as(world.admin):
        return TenantSettings.objects.visible_to(world.admin).get()


def set_rate_limits(world: World, each: int | None, of_all: int | None) -> None:
    amend_settings(settings_of(world), actor=world.admin, **{EACH: each, ALL: of_all})


@pytest.mark.usefixtures("window")
def test_what_a_tenant_says_of_each_holds_for_its_agents_and_its_people(
    world: World, bot: RestClient, operator: RestClient
) -> None:
    set_rate_limits(world, 1, 4)
    for asker in (bot, operator):
        answer = asker.get("notes/")
        assert answer.headers["RateLimit-Policy"] == '"asker";q=1;w=60, "tenant";q=4;w=60'
        refused = asker.get("notes/")
        assert (refused.status, refused.code) == (429, "throttled")
        assert refused.body["detail"].startswith("Too many requests. Your limit is 1 a minute.")
        assert refused.headers["RateLimit-Policy"] == '"asker";q=1;w=60, "tenant";q=4;w=60'
        assert 0 < int(refused.headers["Retry-After"]) <= 60


@pytest.mark.usefixtures("window")
def test_what_a_tenant_says_of_all_holds_for_all_and_for_no_other_tenant(
    world: World, bot: RestClient, operator: RestClient, other: World
) -> None:
    set_rate_limits(world, None, 2)
    assert (bot.get("notes/").status, operator.get("notes/").status) == (200, 200)
    refused = operator.get("notes/")
    assert refused.body["detail"].startswith("Too many requests. The limit of your tenant is 2 a minute.")
    response = agent_client(other).get("notes/")
    assert (response.status, response.headers["RateLimit-Policy"]) == (200, '"asker";q=3;w=60, "tenant";q=5;w=60')


@pytest.mark.usefixtures("window")
def test_the_installation_holds_where_it_takes_less_than_a_tenant_says(
    world: World, bot: RestClient, settings: Settings
) -> None:
    set_rate_limits(world, 3, 5)
    settings.REQUESTS_PER_MINUTE, settings.REQUESTS_PER_MINUTE_OF_TENANT = 2, 4
    assert bot.get("notes/").headers["RateLimit-Policy"] == '"asker";q=2;w=60, "tenant";q=4;w=60'
    # What stands above what the installation takes by now keeps nobody from changing something else.
    amend_settings(settings_of(world), actor=world.admin, timezone="Europe/Berlin", **{EACH: 3})


@pytest.mark.usefixtures("window")
def test_a_tenant_may_say_something_where_the_installation_says_nothing(
    world: World, bot: RestClient, settings: Settings
) -> None:
    settings.REQUESTS_PER_MINUTE = settings.REQUESTS_PER_MINUTE_OF_TENANT = 0
    set_rate_limits(world, 1_000_000, None)
    assert bot.get("notes/").headers["RateLimit-Policy"] == '"asker";q=1000000;w=60'


@pytest.mark.usefixtures("window")
def test_tools_are_called_under_the_same_limits(world: World, mcp_server: McpTestServer) -> None:
    set_rate_limits(world, 1, 3)
    assert not mcp_server.call(world.token, "list_notes", {}).is_refusal
    refused = mcp_server.call(world.token, "list_notes", {})
    assert refused.code == "throttled"
    assert "Your limit is 1 a minute" in refused.text


@pytest.mark.usefixtures("window")
@pytest.mark.parametrize(("field", "value", "ceiling"), [(EACH, 4, 3), (ALL, 6, 5)])
def test_more_than_the_installation_takes_is_refused_with_the_limit(
    world: World, field: str, value: int, ceiling: int
) -> None:
    with pytest.raises(Invalid) as refused:
        amend_settings(settings_of(world), actor=world.admin, **{field: value})
    assert refused.value.fields == {
        field: [
            f"{value} a minute is above the limit of this installation. Enter {ceiling} or less, or leave it empty."
        ]
    }
    amend_settings(settings_of(world), actor=world.admin, **{field: ceiling})
    assert getattr(settings_of(world), field) == ceiling


@pytest.mark.parametrize("field", [EACH, ALL])
def test_none_at_all_is_refused_by_the_application(world: World, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        amend_settings(settings_of(world), actor=world.admin, **{field: 0})
    assert list(refused.value.fields) == [field]


def test_the_database_refuses_a_limit_of_zero_to_every_role(postgres: Postgres, committing: str) -> None:
    make_world()
    with psycopg.connect(postgres.url_for("postgres", database=committing), autocommit=True) as superuser:
        for field in (EACH, ALL):
            superuser.execute(f"UPDATE tenants_tenantsettings SET {field} = 1")  # noqa: S608
            with pytest.raises(CheckViolation, match=r"requests_per_minute(_of_tenant)?_is_positive"):
                superuser.execute(f"UPDATE tenants_tenantsettings SET {field} = 0")  # noqa: S608


def test_only_an_admin_says_so_and_every_change_is_recorded(world: World) -> None:
    with pytest.raises(NotPermitted):
        amend_settings(settings_of(world), actor=world.operator, **{EACH: 2})
    set_rate_limits(world, 2, 3)
    with acting_as(world.admin):
        record = ChangeRecord.objects.select_related("text").filter(act=Act.SETTINGS_AMEND).latest("id")
        assert [record.text.before[EACH], record.text.after[EACH], record.text.after[ALL]] == [None, 2, 3]


def test_limits_of_its_own_cost_no_statement(world: World, bot: RestClient, operator: RestClient) -> None:
    for asker in (bot, operator):
        set_rate_limits(world, None, None)
        asker.get("notes/")
        with CaptureQueriesContext(connection) as bare:
            asker.get("notes/")
        set_rate_limits(world, 1000, 2000)
        with CaptureQueriesContext(connection) as limited:
            assert "q=1000" in asker.get("notes/").headers["RateLimit-Policy"]
        assert len(limited) == len(bare)


@pytest.mark.slow
def test_the_console_shows_them_takes_them_and_says_what_it_cannot_take(world: World, settings: Settings) -> None:
    settings.REQUESTS_PER_MINUTE, settings.REQUESTS_PER_MINUTE_OF_TENANT = 300, 500
    admin: Client = signed_in(world.admin_user)
    page = page_of(settings_of(world))
    assert "as many as the installation takes of an agent or member in a minute" in page_words(admin.get(page))
    assert save_form(admin, page, **{EACH: 20, ALL: 50}).status_code == 302
    assert "20 of an agent or member in a minute, 50 of all together" in page_words(admin.get(page))
    assert "Ensure this value is greater than or equal to 1." in page_text(save_form(admin, page, **{ALL: 0}))
    refused = save_form(admin, page, **{EACH: 301})
    assert "301 a minute is above the limit of this installation. Enter 300 or less, or leave it empty." in page_text(
        refused
    )
    assert 'value="301"' in page_text(refused)
    row = settings_of(world)
    assert (row.requests_per_minute, row.requests_per_minute_of_tenant) == (20, 50)
    assert save_form(admin, page, **{EACH: "", ALL: ""}).status_code == 302
    assert settings_of(world).requests_per_minute is None
