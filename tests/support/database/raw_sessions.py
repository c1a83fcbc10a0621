"""A separate connection to a test's database, as the product's login, for statements that a Django cursor would not take."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.conf import settings
from django.db import connection
from psycopg import sql

from apps.governance.actors import Actor, Role

DATABASE_ROLE = {
    Role.OPERATOR: "operator",
    Role.ADMIN: "operator",
    Role.AGENT: "agent",
    Role.SYSTEM: "worker",
    Role.STAFF: "staff",
}

Raw = psycopg.Connection[tuple[object, ...]]
SETTINGS = (
    "SELECT set_config('app.tenant', %s, true), set_config('app.agent', %s, true), set_config('app.customer', %s, true)"
)


@contextmanager
def session(actor: Actor | None = None) -> Iterator[Raw]:
    """Open one transaction as this actor's role, or as the login alone; it is rolled back."""
    given = connection.settings_dict
    with psycopg.connect(dbname=given["NAME"], host=given["HOST"], user=given["USER"]) as raw:
        if actor is not None:
            assume_actor(raw, actor)
        yield raw
        raw.rollback()


def assume_actor(raw: Raw, actor: Actor) -> None:
    """Become the actor until the transaction ends, as `acting_as` does."""
    role = f"{settings.DATABASE_ROLE_PREFIX}_{DATABASE_ROLE[actor.role]}"
    raw.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(role)))
    customer = "" if actor.customer_key is None else f"={actor.customer_key}"
    raw.execute(SETTINGS, [str(actor.tenant_id), str(actor.agent_id or ""), customer])


def statement_error(actor: Actor | None, statement: str) -> str:
    """Return the error code of a statement, or an empty text if PostgreSQL ran it."""
    with session(actor) as raw:
        try:
            if statement.startswith("COPY"):
                with raw.cursor().copy(statement.encode()) as copying:
                    list(copying)
            else:
                raw.execute(statement.encode())
        except psycopg.Error as refusal:
            return str(refusal.sqlstate)
    return ""
