"""Looking up who was told a row: by index under row security, for one tenant, and by no agent."""

import re

import psycopg
import pytest
from django.db import connection

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import NotPermitted
from apps.launcher.postgres import Postgres
from apps.runtime.explain.exposure import NO_LIMIT, TURNS_QUERY, exposure_of, parts_carrying
from tests.support.database.committing_fixture import committing
from tests.support.database.raw_sql_as_role import run_and_undo
from tests.support.drivers.conversation import run_customer_turn
from tests.support.servers.standin_model import StandIn, standin, standing_in
from tests.support.worlds.world import World, make_persona, make_world

__all__ = ["committing", "standin", "standing_in"]
NO_RIGHT = "42501"
PARTS_QUERY = "SELECT id FROM runtime_snapshotpart WHERE list_part_owners(segments) @> ARRAY['skills.skill 7']"
SESSIONS_QUERY = "SELECT session_id FROM runtime_sessionpart WHERE part_id = 7 ORDER BY session_id DESC LIMIT 10"

COPY = """
INSERT INTO runtime_turn SELECT row.* FROM runtime_turn AS kept, generate_series(1, 2000) AS number,
    jsonb_populate_record(kept, jsonb_build_object('id', 5000000 + number, 'reply_id', 6000000 + number)) AS row WHERE kept.id = %s
"""


def plan_of(world: World, statement: str, **given: object) -> str:
    """What the database does for a person, where it does not read whole tables."""
    with acting_as(world.operator), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN {statement}", given)  # type: ignore[arg-type]  # what psycopg adapts
        return "\n".join(line for (line,) in cursor.fetchall())


def test_turns_are_found_by_index_under_row_security(committing: str, postgres: Postgres, standin: StandIn) -> None:
    world = make_world()
    make_persona(world)
    turn = run_customer_turn(world, "Hello", standin)
    with psycopg.connect(postgres.url_for("postgres", database=committing), autocommit=True) as superuser:
        superuser.execute("SET session_replication_role = replica")
        superuser.execute(COPY, [turn.pk])
        # Of an empty table either way costs the same.
        superuser.execute("ANALYZE runtime_turn")
    plan = plan_of(world, TURNS_QUERY, record=1, most=10)
    assert re.search(r"turn_of_learning_version.*\n *Index Cond: .*learning_version_id = ", plan), plan


@pytest.mark.parametrize(("statement", "index"), [(PARTS_QUERY, "part_by_owner"), (SESSIONS_QUERY, "session_of_part")])
def test_parts_and_their_sessions_are_found_by_index(
    committing: str, postgres: Postgres, statement: str, index: str
) -> None:
    # As the two functions ask, past row security.
    with psycopg.connect(postgres.url_for("postgres", database=committing), autocommit=True) as there:
        there.execute("SET enable_seqscan = off")
        plan = "\n".join(line for (line,) in there.execute(f"EXPLAIN {statement}").fetchall())
    assert index in plan


@pytest.mark.django_db
def test_nobody_else_is_told(standin: StandIn) -> None:
    # R006, R007
    world, other = make_world(), make_world()
    persona = make_persona(world)
    run_customer_turn(world, "Hello", standin)
    label = persona._meta.label_lower
    with acting_as(world.operator):
        parts = list(parts_carrying(label, persona.pk, NO_LIMIT))
    with acting_as(other.operator):
        assert not parts_carrying(label, persona.pk, NO_LIMIT)
    with pytest.raises(NotPermitted):
        exposure_of(persona, actor=world.bot, now=persona.updated_at)
    asked = run_and_undo(world.bot, "SELECT part_id FROM find_parts_with_record(%s, %s, 1)", [label, persona.pk])
    assert asked.sqlstate == NO_RIGHT
    assert (
        run_and_undo(world.bot, "SELECT * FROM find_sessions_with_parts(ARRAY[1, 2, 3]::bigint[], 1)").sqlstate
        == NO_RIGHT
    )
    places = "SELECT part_id FROM find_sessions_with_parts(ARRAY[%s]::bigint[], 10)"
    [part] = parts
    assert run_and_undo(world.operator, places, [part]).found == ((part,),)
    assert run_and_undo(other.operator, places, [part]).found == ()
