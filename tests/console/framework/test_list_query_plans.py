"""What a list reads grows with what it shows and not with the history: the plans of every long list, row security on.

Two tenants have a history each, of the same time. A third, whose few rows are older than theirs, has none: whoever walks a table
from its end to find those has read all of the others'.
"""

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from apps.console.site import site
from apps.conversations.models import Conversation, Message
from apps.desk.models import Draft, Escalation
from apps.desk.reports.models import Report
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord, Proposal, Refusal
from apps.launcher.postgres import Postgres
from apps.learning.extraction.models import Extraction
from apps.memory.models import CustomerProfile, MemoryLine
from apps.review.models import Comment
from apps.runtime.models import Session
from apps.skills.models import Skill
from tests.console.dashboard.test_home_query_plans import ROW_MOMENT
from tests.support.database.committing_fixture import committing
from tests.support.drivers.console_client import list_of, page_of, signed_in
from tests.support.parameter_sampling import whole_or
from tests.support.worlds.furnished_tenant import make_console_rows
from tests.support.worlds.world import World, make_world

__all__ = ["committing"]

ROWS = whole_or(5_000, whole=100_000)
# Lists count and sample a thousand rows at most, however many there are.
MOST_READ = whole_or(1_500, whole=10_000)
# To join all rows of a short history is as cheap as to look a thousand up: told otherwise, PostgreSQL plans as for a long one.
PLANNER_SETTINGS = whole_or(
    "SET LOCAL random_page_cost = 1; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off", whole="SELECT"
)
FIRST_ROW_ID = 5_000_000
# Copies of one row with every other number; one in fifty is as it was, the others are settled.
COPY = """
INSERT INTO {table} SELECT row.* FROM {table} AS copied, generate_series(1, {rows}) AS number,
    jsonb_populate_record(copied, jsonb_build_object('id', {first} + 2 * number) || {changes}) AS row WHERE copied.id = {copied}
"""
LATEST = "SELECT max(id) FROM {table} WHERE tenant_id = {tenant}"
SETTLED = "CASE WHEN number % 50 = 0 THEN '{{}}'::jsonb ELSE jsonb_build_object({settled}) END"
GROWN: dict[type[Model], tuple[str, str]] = {
    Conversation: (
        f"'conversation_key', 'c' || number, 'end_user_key', 'http:c' || number, 'created_at', {ROW_MOMENT}",
        f"'status', 'resolved', 'outcome', 'solved', 'resolved_at', {ROW_MOMENT}",
    ),
    Draft: (
        "'turn_id', {first} + 2 * number, 'message_id', {first} + 2 * number, 'conversation_id', {first} + 2 * number",
        "'status', 'sent'",
    ),
    Escalation: (
        "'conversation_id', {first} + 2 * number, 'turn_id', null",
        "'status', 'dismissed', 'decided_by', 'x'",
    ),
    Session: ("'conversation_id', {first} + 2 * number", ""),
    Proposal: (
        "'target_id', {first} + 2 * number",
        f"'state', 'applied', 'decided_by', 'x', 'decided_at', {ROW_MOMENT}",
    ),
    ChangeRecord: (f"'subject_id', number, 'created_at', {ROW_MOMENT}", ""),
    Refusal: (f"'created_at', {ROW_MOMENT}", ""),
    Extraction: ("'conversation_id', {first} + 2 * number, 'skill_id', null, 'verdict', 'no_procedure'", ""),
    CustomerProfile: ("'end_user_key', 'http:c' || number", ""),
    MemoryLine: (
        "'sha256', md5('x' || number) || md5('y' || number)",
        f"'status', 'superseded', 'ended_at', {ROW_MOMENT}",
    ),
    Skill: ("'name', 'skill-' || number", "'status', 'deprecated'"),
    Report: (
        "'message_id', {first} + 2 * number, 'conversation_id', {first} + 2 * number",
        f"'status', 'resolved', 'outcome', 'skill', 'decided_by', 'x', 'decided_at', {ROW_MOMENT}",
    ),
    Comment: ("'proposal_id', {first} + 2 * number", "'status', 'withdrawn', 'text', ''"),
}
# What those rows name and no list shows.
COPIED_COLUMNS: dict[type[Model], tuple[str, str]] = {
    Message: ("'conversation_id', {first} + 2 * number, 'turn_id', null", "")
}
TABLES = {model._meta.db_table for model in GROWN | COPIED_COLUMNS}


def grow(superuser: "psycopg.Connection[Any]", world: World, first: int) -> None:
    """Let the tenant have a history of each noun."""
    for model, (changes, settled) in (GROWN | COPIED_COLUMNS).items():
        named = {"table": model._meta.db_table, "rows": ROWS, "first": first, "tenant": world.tenant.pk}
        [copied] = superuser.execute(LATEST.format(**named).encode()).fetchone() or [None]
        assert copied, model
        changed = f"jsonb_build_object({changes.format(**named)})"
        changed += f" || {SETTLED.format(settled=settled)}" if settled else ""
        superuser.execute(COPY.format(**named, changes=changed, copied=copied).encode())


def scans(node: dict[str, Any]) -> Iterator[tuple[str, str, float]]:
    """How each grown table is read, and how many of its rows."""
    if node.get("Relation Name") in TABLES:
        removed = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
        yield node["Relation Name"], node["Node Type"], (node["Actual Rows"] + removed) * node["Actual Loops"]
    for each in node.get("Plans", ()):
        yield from scans(each)


def list_urls(world: World) -> Iterator[str]:
    """Every list on each of its tabs, one far down, some narrowed, and the page of one row."""
    for model in GROWN:
        tabs = site._registry[model].tabs
        for tab in ("all", *(value for value, _ in tabs.choices)) if tabs else ("",):
            yield f"{list_of(model)}?tab={tab}"
    for model in GROWN:
        with acting_as(world.operator):
            row = model._default_manager.order_by("pk").filter(tenant_id=world.tenant.pk)[:1].get()
        yield page_of(row)
    yield from (f"{list_of(Proposal)}?tab={tab}" for tab in ("waiting", "decided", "needs_second_reviewer"))
    yield from (f"{list_of(Conversation)}?p=20", f"{list_of(ChangeRecord)}?act__exact=skill.draft")
    yield f"{list_of(Conversation)}?agent__id__exact={world.agent.pk}"


def long_reads(client: Client, world: World, path: str) -> Iterator[str]:
    """The statements of a page that read a table whole, or more of it than a list may."""
    with CaptureQueriesContext(connection) as captured:
        assert client.get(path).status_code == 200, path
    asked = [query["sql"] for query in captured if any(table in query["sql"] for table in TABLES)]
    assert asked, path
    with acting_as(world.operator), connection.cursor() as cursor:
        cursor.execute(PLANNER_SETTINGS)
        for sql in asked:
            cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}")
            [plan] = cursor.fetchone()[0]
            bad = [each for each in scans(plan["Plan"]) if each[1] == "Seq Scan" or each[2] > MOST_READ]
            if bad:
                yield f"{path}: {json.dumps(bad)} {sql[:3000]}"


@pytest.mark.slow
@pytest.mark.whole
@pytest.mark.unmeasured
def test_lists_of_a_long_history_read_what_they_show(committing: str, postgres: Postgres, settings: Settings) -> None:
    # R012
    settings.WHITENOISE_AUTOREFRESH = True
    small, large, other = make_world(), make_world(), make_world()
    for world in (small, large, other):
        make_console_rows(world)
    with psycopg.connect(postgres.url_for("postgres", database=committing), autocommit=True) as superuser:
        superuser.execute("SET session_replication_role = replica")
        for number, world in enumerate((large, other)):
            grow(superuser, world, FIRST_ROW_ID + number)
        for table in TABLES:
            superuser.execute(f"VACUUM ANALYZE {table}".encode())
    found = []
    for world in (large, small):
        client = signed_in(world.operator_user)
        for path in list_urls(world):
            found += list(long_reads(client, world, path))
    assert not found, "\n".join(found)
