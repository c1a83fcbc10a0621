"""One statement as an actor, outside every other transaction."""

import pytest
from django.db import DatabaseError, ProgrammingError, connection

from apps.governance.acting import one_shot
from apps.governance.database import role_name
from tests.factories import make_profile, make_world

WHO = "SELECT current_setting('role'), current_setting('app.tenant'), count(*) FROM memory_customerprofile"


def present() -> tuple[str, ...]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('role'), current_setting('app.tenant')")
        return tuple(cursor.fetchone())


def test_one_statement_alone_is_a_transaction_that_leaves_nothing_behind(committing: str) -> None:
    # R006, R012, R013
    world, other = make_world(), make_world()
    make_profile(world)
    assert one_shot(world.system, WHO, {}) == [(role_name("worker"), str(world.tenant.pk), 1)]
    assert present() == ("none", "")
    assert one_shot(other.system, WHO, {})[0][2] == 0
    writes = "UPDATE tenants_tenant SET name = %(name)s WHERE id = %(id)s RETURNING id"
    with pytest.raises(ProgrammingError, match="permission denied"):
        one_shot(world.system, writes, {"name": "Mine", "id": world.tenant.pk})
    assert present() == ("none", "")
    fails = "WITH gone AS (DELETE FROM skills_skilluse RETURNING id) SELECT 1 / (SELECT count(*) FROM gone WHERE id < %(id)s)"
    with pytest.raises(DatabaseError):
        one_shot(world.system, fails, {"id": 0})
