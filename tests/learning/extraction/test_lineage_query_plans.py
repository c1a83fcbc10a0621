"""What came of a conversation is looked for by index, however much the tenant's books hold."""

import psycopg
import pytest
from django.db import connection

from apps.governance.database.actor_transaction import acting_as
from apps.launcher.postgres import Postgres
from apps.learning.lineage import descendants
from tests.learning.extraction.test_lineage import make_descendants
from tests.support.database.committing_fixture import committing
from tests.support.worlds.world import make_conversation, make_world

__all__ = ["committing"]
# A history of one record: each names a conversation that nobody had.
HISTORY = """
INSERT INTO governance_changerecord SELECT row.* FROM governance_changerecord AS copied, generate_series(1, 20000) AS number,
    jsonb_populate_record(copied, jsonb_build_object('id', 5000000 + number, 'subject_id', 5000000 + number,
        'evidence', jsonb_build_object('conversation_id', 5000000 + number))) AS row
    WHERE copied.id = (SELECT max(id) FROM governance_changerecord)
"""
SCAN_COUNTS = (
    "SELECT pg_stat_get_xact_numscans('change_by_evidence'::regclass),"
    " pg_stat_get_xact_numscans('governance_changerecord'::regclass)"
)


def scans() -> list[int]:
    """How often the index of evidence was read by now, and how often the whole table."""
    with connection.cursor() as cursor:
        cursor.execute(SCAN_COUNTS)
        return list(cursor.fetchone() or ())


@pytest.mark.slow
@pytest.mark.unmeasured
def test_what_came_of_a_conversation_is_found_by_index_under_row_security(committing: str, postgres: Postgres) -> None:
    # R012
    world = make_world()
    conversation = make_conversation(world)
    make_descendants(world, conversation)
    expected = [(row.record_type, row.record_id) for row in descendants(conversation, actor=world.operator)]
    with psycopg.connect(postgres.url_for("postgres", database=committing), autocommit=True) as superuser:
        superuser.execute("SET session_replication_role = replica")
        superuser.execute(HISTORY.encode())
        superuser.execute("VACUUM ANALYZE governance_changerecord")
    with acting_as(world.operator):
        before = scans()
        found = descendants(conversation, actor=world.operator)
        after = scans()
    assert [(row.record_type, row.record_id) for row in found] == expected
    assert after[0] >= before[0] + 2
    assert after[1] == before[1]
