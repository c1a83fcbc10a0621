"""Either wall alone is enough: here the database's is not there, and the product's own filter has to hold."""

import psycopg

from apps.governance.database.actor_transaction import acting_as
from apps.launcher.postgres import Postgres
from apps.personas.models import Persona
from tests.support.worlds.world import make_persona, make_world


def test_what_an_actor_sees_is_filtered_by_tenant_before_row_security_is_asked(
    postgres: Postgres, committing: str
) -> None:
    # R006: the statement as it is sent, run by somebody for whom row security does not hold.
    world, other = make_world(), make_world()
    mine, theirs = make_persona(world), make_persona(other)
    with acting_as(world.operator):
        statement, values = Persona.objects.visible_to(world.operator).values_list("pk").query.sql_with_params()
    with psycopg.connect(postgres.url_for("postgres", database=committing)) as superuser:
        assert superuser.execute(statement.encode(), values).fetchall() == [(mine.pk,)]
        everything = superuser.execute("SELECT id FROM personas_persona ORDER BY id").fetchall()
        assert everything == [(mine.pk,), (theirs.pk,)]
