"""The look for what no lesson was made of costs what the last week holds, not what was ever settled."""

from typing import Any

import psycopg
import pytest

from apps.launcher.postgres import Postgres
from apps.learning.lessons.lesson_capture import capture_agent_lessons
from apps.tenants.due_work import due_work
from tests.support.database.committing_fixture import committing
from tests.support.factories.lessons import lessons_of, make_edited_draft
from tests.support.parameter_sampling import whole_or
from tests.support.worlds.world import make_world

__all__ = ["committing"]

SETTLED = whole_or(20_000, whole=100_000)
# A week are two hundred.
MOST_READ = 1_000
# Copies of one row, each of another turn; how long ago they were settled is told in days.
COPY = """
INSERT INTO {table} SELECT row.* FROM {table} AS model, generate_series(1, {rows}) AS number,
    jsonb_populate_record(model, jsonb_build_object('id', 5000000 + number, {changes})) AS row WHERE model.id = {model}
"""
DRAFTS = (
    "'turn_id', 5000000 + number, 'message_id', 5000000 + number, 'decided_at', now() - number * interval '52 minutes'"
)


def due_query_plan(superuser: "psycopg.Connection[Any]") -> dict[str, Any]:
    """How PostgreSQL goes about it, and what that took."""
    [body] = superuser.execute("SELECT prosrc FROM pg_proc WHERE proname = 'list_due_lesson_captures'").fetchone() or [
        ""
    ]
    found = superuser.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {body}".encode()).fetchone()
    assert found is not None
    plan: dict[str, Any] = found[0][0]
    return plan


def rows_read(node: dict[str, Any], table: str) -> float:
    """Rows of a table that a plan touched, those it threw away included."""
    own = (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
    mine = own if node.get("Relation Name") == table else 0
    return float(mine + sum(rows_read(each, table) for each in node.get("Plans", ())))


@pytest.mark.slow
@pytest.mark.whole
def test_a_look_reads_a_week_of_years_of_settled_drafts(committing: str, postgres: Postgres) -> None:
    world = make_world()
    draft = make_edited_draft(world)
    capture_agent_lessons(world.agent.pk, actor=world.system)
    with psycopg.connect(postgres.url_for("postgres", database=committing), autocommit=True) as superuser:
        superuser.execute("SET session_replication_role = replica")
        copies = {"table": "desk_draft", "rows": SETTLED, "model": draft.pk, "changes": DRAFTS}
        superuser.execute(COPY.format(**copies).encode())
        [case] = superuser.execute("SELECT id FROM learning_lessoncase").fetchone() or [0]
        looked_at = "'source_id', 5000000 + number"
        copies |= {"table": "learning_lessoncase", "model": case, "changes": looked_at}
        superuser.execute(COPY.format(**copies).encode())
        superuser.execute("VACUUM ANALYZE desk_draft, learning_lessoncase")
        plan = due_query_plan(superuser)
    assert rows_read(plan["Plan"], "desk_draft") < MOST_READ


@pytest.mark.slow
def test_what_is_older_than_a_week_is_taken_along_with_the_next(committing: str, postgres: Postgres) -> None:
    world = make_world()
    old = make_edited_draft(world)
    with psycopg.connect(postgres.url_for("postgres", database=committing), autocommit=True) as superuser:
        superuser.execute("SET session_replication_role = replica")
        superuser.execute("UPDATE desk_draft SET decided_at = now() - interval '8 days' WHERE id = %s", [old.pk])
    assert due_work("lesson_captures") == []
    make_edited_draft(world)
    assert due_work("lesson_captures") == [(world.tenant.pk, world.agent.pk)]
    capture_agent_lessons(world.agent.pk, actor=world.system)
    assert [lesson.support_count for lesson in lessons_of(world)] == [2]
