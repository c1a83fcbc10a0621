"""What home and the figures read grows with their range and not with the history: their plans over many rows of each kind."""

import json
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from apps.conversations.actions import resolve_conversation
from apps.conversations.models import Conversation
from apps.governance.database.actor_transaction import acting_as
from apps.launcher.postgres import Postgres
from tests.support.database.committing_fixture import committing
from tests.support.drivers.console_client import signed_in
from tests.support.factories.desk import make_escalation
from tests.support.factories.lessons import make_edited_draft
from tests.support.parameter_sampling import whole_or
from tests.support.worlds.filled_world import refuse_once
from tests.support.worlds.furnished_tenant import make_turn
from tests.support.worlds.world import make_conversation, make_skill, make_world

__all__ = ["committing"]

ROWS = whole_or(20_000, whole=100_000)
MOST_READS = 12
PAGES = ("/admin/?range=30d", "/admin/figures/?range=90d")
# Copies of one row, spread evenly over about six years.
COPY = """
INSERT INTO {table} SELECT row.* FROM {table} AS copied, generate_series(1, {rows}) AS number,
    jsonb_populate_record(copied, jsonb_build_object('id', 5000000 + number, {changes})) AS row WHERE copied.id = {copied}
"""
LATEST = "SELECT max(id) FROM {table}"
ROW_MOMENT = f"now() - number * interval '{3_100_000 // ROWS} minutes'"
BEGAN_AND_ENDED = f"'created_at', {ROW_MOMENT}, 'resolved_at', {ROW_MOMENT}"
GROWN = {
    "conversations_conversation": f"'conversation_key', 'c' || number, 'end_user_key', 'http:' || number, {BEGAN_AND_ENDED}",
    "desk_draft": f"'turn_id', 5000000 + number, 'message_id', 5000000 + number, 'created_at', {ROW_MOMENT},"
    f" 'decided_at', {ROW_MOMENT}",
    "desk_escalation": f"'status', 'dismissed', 'decided_by', 'x', 'conversation_id', 5000000 + number, 'created_at', {ROW_MOMENT}",
    "runtime_turn": f"'conversation_id', 5000000 + number, 'reply_id', 5000000 + number, 'started_at', {ROW_MOMENT}",
    "runtime_modelcall": f"'turn_id', 5000000 + number, 'is_stand_in', false, 'created_at', {ROW_MOMENT}",
    "governance_proposal": f"'state', 'applied', 'decided_by', 'x', 'created_at', {ROW_MOMENT},"
    f" 'decided_at', {ROW_MOMENT}",
    "governance_changerecord": f"'created_at', {ROW_MOMENT}",
    "governance_refusal": f"'created_at', {ROW_MOMENT}",
}


def grow(superuser: "psycopg.Connection[Any]") -> None:
    """Let every large table of the page hold a history."""
    superuser.execute("SET session_replication_role = replica")
    for table, changes in GROWN.items():
        [copied] = superuser.execute(LATEST.format(table=table).encode()).fetchone() or [0]
        superuser.execute(COPY.format(table=table, rows=ROWS, changes=changes, copied=copied).encode())
        superuser.execute(f"VACUUM ANALYZE {table}".encode())


def scans(node: dict[str, Any]) -> list[tuple[str, str, float]]:
    """How each large table is read, and how many of its rows."""
    own = (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
    mine = [(node["Relation Name"], node["Node Type"], own)] if node.get("Relation Name") in GROWN else []
    return mine + [found for each in node.get("Plans", ()) for found in scans(each)]


@pytest.mark.slow
@pytest.mark.whole
@pytest.mark.unmeasured
def test_pages_of_days_read_days(committing: str, postgres: Postgres, settings: Settings) -> None:
    settings.WHITENOISE_AUTOREFRESH = True
    world = make_world()
    make_escalation(world)
    make_edited_draft(world)
    refuse_once(make_skill(world), world)
    make_turn(world, make_conversation(world))
    resolve_conversation(make_conversation(world), actor=world.operator, outcome=Conversation.Outcome.SOLVED)
    make_skill(world, "approved")
    client = signed_in(world.operator_user)
    with psycopg.connect(postgres.url_for("postgres", database=committing), autocommit=True) as superuser:
        grow(superuser)
    for path in PAGES:
        with CaptureQueriesContext(connection) as captured:
            assert client.get(path).status_code == 200
        assert sum(" FROM " in query["sql"] for query in captured) <= MOST_READS
        asked = [query["sql"] for query in captured if any(table in query["sql"] for table in GROWN)]
        assert len(asked) >= 2
        with acting_as(world.operator), connection.cursor() as cursor:
            for sql in asked:
                cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}")
                [plan] = cursor.fetchone()[0]
                read = scans(plan["Plan"])
                assert not [each for each in read if each[1] == "Seq Scan" or each[2] > ROWS / 10], json.dumps(plan)
