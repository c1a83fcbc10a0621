"""A test that commits leaves nothing to the next one in the same clone."""

from itertools import count

import pytest
from django.db import connections
from pytest_django import DjangoDbBlocker

from tests.support.database.clone_pool import ClonePool
from tests.support.worlds.world import make_persona, make_world


@pytest.mark.slow
def test_what_was_committed_is_gone_and_numbers_begin_again(
    standing_clones: ClonePool, django_db_setup: str, django_db_blocker: DjangoDbBlocker
) -> None:
    # Clones of its own, which no other test had: those of the process may be compared with an earlier state.
    clones = ClonePool(standing_clones.server, standing_clones.template, made=count(10_001))
    with django_db_blocker.unblock():
        for _ in range(3):
            with clones.lend(django_db_setup) as lent:
                world = make_world("swept")
                persona = make_persona(world)
            with clones.lend(django_db_setup) as again:
                # The server's upkeep may have changed statistics meanwhile: the clone counts as changed, and another is made.
                is_again = again == lent
                if is_again:
                    later = make_world("swept")
                    assert later.tenant.pk == world.tenant.pk
                    assert make_persona(later).pk == persona.pk
            if is_again:
                break
        clones.drop()
    if not is_again:
        pytest.skip("The server's upkeep took statistics of each clone, so that none was lent again.")


@pytest.mark.slow
@pytest.mark.parametrize(
    "changed",
    [
        "ALTER TABLE skills_skill DISABLE TRIGGER USER",
        "GRANT DELETE ON skills_skill TO PUBLIC",
        "DROP POLICY skills_skill_tenant ON skills_skill",
        "DELETE FROM django_migrations WHERE app = 'skills'",
    ],
)
def test_a_clone_that_is_not_as_it_was_is_dropped(
    standing_clones: ClonePool, django_db_setup: str, django_db_blocker: DjangoDbBlocker, changed: str
) -> None:
    with django_db_blocker.unblock():
        with standing_clones.lend(django_db_setup) as lent, connections["owner"].cursor() as cursor:
            cursor.execute(changed)
        with standing_clones.lend(django_db_setup) as other:
            assert other != lent
        with connections["owner"].cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_database WHERE datname = %s", [lent])
            assert cursor.fetchone() == (0,)
