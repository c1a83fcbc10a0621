"""One statement as an actor, outside every other transaction."""

import pytest
from django.db import DatabaseError, ProgrammingError, connection, transaction
from django.test.utils import CaptureQueriesContext

from apps.governance.database.actor_transaction import execute_as
from apps.governance.database.migration_operations import role_name
from apps.governance.database.prepared_statements import prepare_statement
from tests.support.worlds.world import World, make_profile, make_world

pytestmark = pytest.mark.kernel

NAMED_PARAMETERS = (
    "SELECT %(word)s || ' of ' || current_setting('app.tenant'), current_setting('plan_cache_mode'),"
    " %(word)s LIKE 'a%%'"
)
ROLE_AND_TENANT = "SELECT current_setting('role'), current_setting('app.tenant'), count(*) FROM memory_customerprofile"


LOCKS = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND %(word)s <> ''"


def present_setting(name: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting(%s)", [name])
        return str(cursor.fetchone()[0])


def current_settings() -> tuple[str, ...]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('role'), current_setting('app.tenant')")
        return tuple(cursor.fetchone())


def test_one_statement_alone_is_a_transaction_that_leaves_nothing_behind(committing: str) -> None:
    # R006, R012, R013
    world, other = make_world(), make_world()
    make_profile(world)
    assert execute_as(world.system, ROLE_AND_TENANT, {}) == [(role_name("worker"), str(world.tenant.pk), 1)]
    assert current_settings() == ("none", "")
    assert execute_as(other.system, ROLE_AND_TENANT, {})[0][2] == 0
    writes = "UPDATE tenants_tenant SET name = %(name)s WHERE id = %(id)s RETURNING id"
    with pytest.raises(ProgrammingError, match="permission denied"):
        execute_as(world.system, writes, {"name": "Mine", "id": world.tenant.pk})
    assert current_settings() == ("none", "")
    fails = "WITH gone AS (DELETE FROM skills_skilluse RETURNING id) SELECT 1 / (SELECT count(*) FROM gone WHERE id < %(id)s)"
    with pytest.raises(DatabaseError):
        execute_as(world.system, fails, {"id": 0})


def test_a_statement_is_planned_once_and_found_again_whatever_became_of_its_plan(committing: str) -> None:
    # R013: a pooler may give the next transaction a connection that has the plan, or one that does not.
    world, other = make_world(), make_world()

    def answer(world: World, word: str) -> None:
        expected_text = f"{word} of {world.tenant.pk}"
        assert execute_as(world.system, NAMED_PARAMETERS, {"word": word}) == [
            (expected_text, "force_generic_plan", word.startswith("a"))
        ]

    with CaptureQueriesContext(connection) as sent:
        answer(world, "apples")
        answer(other, "pears")
    first, second = (query["sql"] for query in sent.captured_queries)
    assert f"PREPARE {prepare_statement(NAMED_PARAMETERS).name} AS" in first
    assert "PREPARE" not in second
    assert present_setting("plan_cache_mode") == "auto"
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")
    answer(other, "it's a stone")
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")
        cursor.execute(prepare_statement(ROLE_AND_TENANT).plan)
    assert execute_as(world.system, ROLE_AND_TENANT, {})[0][1] == str(world.tenant.pk)
    answer(world, "anew")
    with pytest.raises(ProgrammingError, match="nowhere"):
        execute_as(world.system, "SELECT %(word)s FROM nowhere", {"word": "a"})


def test_a_plan_made_for_one_role_shows_another_what_that_role_may_see(committing: str) -> None:
    # R006, R012, R013
    world = make_world()
    make_profile(world)
    for actor, sees in (
        (world.system, 1),
        (world.bot.serving("somebody-else"), 0),
        (world.operator, 1),
        (world.system, 1),
    ):
        [(_, _, seen)] = execute_as(actor, ROLE_AND_TENANT, {})
        assert seen == sees, actor.role


def test_what_runs_alone_holds_its_name_until_its_transaction_ends(committing: str) -> None:
    # R126
    world, word = make_world(), {"word": "pears"}
    assert execute_as(world.system, LOCKS, word, alone="statement of pears") == [(1,)]
    assert execute_as(world.system, LOCKS, word) == [(0,)]
    with transaction.atomic():
        assert execute_as(world.system, LOCKS, word, alone="statement of pears") == [(1,)]
        assert execute_as(world.system, LOCKS, word) == [(1,)]
    assert execute_as(world.system, LOCKS, word) == [(0,)]
