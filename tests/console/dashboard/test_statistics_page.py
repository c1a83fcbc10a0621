"""The figures page, and the figures at home: real rows, counted by the tenant's clock, each day leading to its list."""

from datetime import date, timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from apps.conversations.actions import resolve_conversation
from apps.conversations.models import Conversation
from apps.governance.database.actor_transaction import acting_as
from apps.launcher.postgres import Postgres
from apps.runtime.models import Spend
from apps.runtime.turns.operator_replies import send_reviewed_draft
from apps.skills.actions import deprecate_skill
from apps.tenants.actions import amend_settings
from apps.tenants.models import TenantSettings
from tests.console.dashboard.test_home import HOME, page_context
from tests.support.database.committing_fixture import committing
from tests.support.drivers.console_client import page_words, signed_in
from tests.support.factories.desk import make_escalation, make_waiting_draft
from tests.support.factories.lessons import make_edited_draft
from tests.support.worlds.furnished_tenant import make_console_rows
from tests.support.worlds.world import World, make_conversation, make_event, make_rule, make_skill, make_world

__all__ = ["committing"]

FIGURES = "/admin/figures/"
CONTROL = ("SAVEPOINT", "RELEASE", "ROLLBACK", "SELECT set_config")


def figures_of(client: Client, query: str = "") -> dict[str, Any]:
    """The figures by their names."""
    return {figure.name: figure for figure in page_context(client, f"{FIGURES}{query}")["figures"]}


def last_day(figure: Any) -> tuple[Any, str]:
    """Its last day, and the list of that day."""
    found: tuple[Any, str] = list(figure.days)[-1]
    return found


def spend_of_today(world: World, **counts: int) -> None:
    with acting_as(world.system):
        Spend.objects.create(tenant=world.tenant, agent=world.agent, day=timezone.now().date(), **counts)


def test_conversations_are_counted_by_the_day_they_began_or_were_resolved(world: World, operator: Client) -> None:
    done = resolve_conversation(make_conversation(world), actor=world.operator, outcome=Conversation.Outcome.SOLVED)
    make_event(world, conversation_key=done.conversation_key)
    make_escalation(world)
    found = figures_of(operator)
    totals = {name: found[name].plot.total for name in ("resolution", "escalation", "reopened")}
    assert totals == {
        "resolution": "33 % (1 of 3)",
        "escalation": "33 % (1 of 3)",
        "reopened": "100 % (1 of 1)",
    }
    point, url = last_day(found["resolution"])
    assert point.heights == (33,)
    assert page_context(operator, url)["cl"].result_count == 3
    assert page_context(operator, last_day(found["reopened"])[1])["cl"].result_list[0].pk == done.pk
    assert page_context(operator, last_day(found["escalation"])[1])["cl"].result_count == 1


def test_drafts_are_counted_by_what_became_of_them(world: World, operator: Client) -> None:
    plain = make_waiting_draft(world)
    send_reviewed_draft(plain, actor=world.operator, reviewed_sha256=plain.text_sha256, text=plain.text)
    make_edited_draft(world, text="It is lost.", sent="It is found.")
    make_waiting_draft(world)
    found = figures_of(operator)
    assert found["acceptance"].plot.total == "50 % (1 of 2)"
    assert found["drafts"].plot.total == "1 + 1 + 0"
    assert last_day(found["edits"])[0].cells == ("33 %", "1")
    assert page_context(operator, last_day(found["drafts"])[1])["cl"].result_count == 2
    assert page_context(operator, last_day(found["edits"])[1])["cl"].result_count == 1


@pytest.mark.slow
def test_spend_is_seen_against_the_budget_and_learning_by_what_came_and_went(world: World, operator: Client) -> None:
    with acting_as(world.admin):
        settings = TenantSettings.objects.get(tenant=world.tenant)
    amend_settings(settings, actor=world.admin, day_budget_micro_usd=4_000_000)
    spend_of_today(world, calls=3, cost_micro_usd=1_000_000, input_tokens=100, cache_read_tokens=300)
    deprecate_skill(make_skill(world, "approved"), actor=world.operator, reason="Nobody asks.")
    found = figures_of(operator)
    assert found["cache"].plot.total == "75 % (300 of 400)"
    assert (last_day(found["spend"])[0].heights, found["spend"].plot.line_y) == ((25,), 0)
    assert last_day(found["learning"])[0].cells == ("1", "1")
    assert page_context(operator, last_day(found["spend"])[1])["cl"].result_count == 1
    assert page_context(operator, last_day(found["learning"])[1])["cl"].result_count == 2
    assert "Spend today: $1.0000 of $4.0000, 3 model calls." in page_words(operator.get(HOME))
    assert "Spend of 7 days: $1.0000 of $28.0000" in page_words(operator.get(f"{HOME}?range=7d"))


def test_range_and_emptiness_are_said(operator: Client) -> None:
    assert {len(figures_of(operator, query)["cache"].plot.points) for query in ("", "?range=nonsense")} == {30}
    assert len(figures_of(operator, "?range=90d")["cache"].plot.points) == 90
    assert "Nothing of this in these days." in page_words(operator.get(FIGURES))


@pytest.mark.unmeasured
def test_a_day_is_one_of_the_tenants_own(committing: str, postgres: Postgres, settings: Settings) -> None:
    settings.WHITENOISE_AUTOREFRESH = True
    world = make_world()
    conversation = make_conversation(world)
    with acting_as(world.admin):
        row = TenantSettings.objects.get(tenant=world.tenant)
    amend_settings(row, actor=world.admin, timezone="Pacific/Auckland")
    # Half past nine in the evening of one day is the morning of the next there.
    began = (timezone.now() - timedelta(days=5)).replace(hour=21, minute=30)
    with psycopg.connect(postgres.url_for("postgres", database=committing), autocommit=True) as superuser:
        superuser.execute("SET session_replication_role = replica")
        superuser.execute(
            "UPDATE conversations_conversation SET created_at = %s WHERE id = %s", [began, conversation.pk]
        )
    days = list(figures_of(signed_in(world.operator_user))["resolution"].days)
    [(point, url)] = [each for each in days if each[0].heights]
    assert point.day == date.fromordinal(began.date().toordinal() + 1)
    [listed] = page_context(signed_in(world.operator_user), url)["cl"].result_list
    assert listed.pk == conversation.pk


@pytest.mark.slow
@pytest.mark.parametrize("path", [HOME, FIGURES])
def test_home_and_figures_cost_few_statements_however_much_there_is(world: World, operator: Client, path: str) -> None:
    make_console_rows(world)
    few = statements(operator, path)
    for number in range(6):
        make_skill(world, "approved")
        make_rule(world, f"Rule {number}.")
        make_edited_draft(world)
        make_escalation(world)
    assert statements(operator, path) == few
    assert len(few) <= 12, "\n".join(few)


def statements(client: Client, path: str) -> list[str]:
    """What a page asks for beside transactions and walls, each by its beginning."""
    client.get(path)
    with CaptureQueriesContext(connection) as captured:
        assert client.get(path).status_code == 200
    asked = [query["sql"] for query in captured if not query["sql"].startswith(CONTROL)]
    return [sql[:60] for sql in asked]
