"""Fixture for the OpenAPI tests: two tenants with every row, one of them with marked texts."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import psycopg
from django.db import connection, models, transaction
from django.test import Client
from django.test.utils import setup_test_environment
from psycopg import sql

from apps.launcher.postgres import Postgres
from apps.llm.anthropic.sync_client import AnthropicBackend
from apps.standin.thread_server import run_standin_thread
from tests.governance.isolation.test_isolation_over_rest import MODELS
from tests.governance.not_found_comparison import UNKNOWN_ID, nouns, row_of
from tests.settings import PREFIX
from tests.support.database.clones import clone_database, close_connections
from tests.support.database.migrated_cluster import TEMPLATE, ready_server
from tests.support.worlds.filled_world import Filled, fill_world
from tests.support.worlds.world import World

# A mark that is never generated, and that no text of the sender's own tenant contains.
MARK: Final = "Qz7-not-yours-Qz7"
CSRF: Final = "c" * 32


@dataclass(frozen=True, slots=True)
class RequestSender:
    """A sender of requests, by its headers."""

    name: str
    headers: Mapping[str, str]
    cookies: Mapping[str, str]


@dataclass(frozen=True)
class TwoTenantFixture:
    """The sender's own tenant, and the other one with marked texts."""

    mine: Filled
    others: Filled
    rows: Mapping[str, tuple[Any, Any]]  # Any: a row of any noun, mine and the other tenant's
    people: tuple[RequestSender, ...]
    owner: RequestSender
    marked: int

    @property
    def agent(self) -> RequestSender:
        """The sender with an agent's token."""
        return self.people[0]


@contextmanager
def run_two_tenants() -> Iterator[TwoTenantFixture]:
    """Make the fixture on a server of its own, committed, for programs that are not tests."""
    setup_test_environment()
    with ready_server() as server, run_standin_thread() as url:
        clone_database(server, TEMPLATE, PREFIX)
        backend = AnthropicBackend("test", base_url=url)
        try:
            yield make_two_tenants(server, fill_world(backend), fill_world(backend))
        finally:
            backend.close()
            close_connections()


def make_two_tenants(server: Postgres, mine: Filled, others: Filled) -> TwoTenantFixture:
    """Mark the other tenant's texts, and sign in every sender."""
    marked = _mark(server, others.world)
    rows = {noun: (row_of(model, mine.world), row_of(model, others.world)) for noun, model in MODELS.items()}
    world = mine.world
    people = (
        RequestSender("agent", {"Authorization": f"Bearer {world.token}"}, {}),
        _signed_in("operator", world.operator_user),
        _signed_in("admin", world.admin_user),
    )
    return TwoTenantFixture(mine, others, rows, people, _signed_in("owner", others.world.operator_user), marked)


@contextmanager
def rollback_afterwards() -> Iterator[None]:
    """Let the block commit, and take everything back afterwards: the next request finds the same rows."""
    with transaction.atomic(), _keep_connection_open():
        yield
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")
        transaction.set_rollback(True)


@contextmanager
def _keep_connection_open() -> Iterator[None]:
    """Keep the connection: Django closes it at the ends of a request if it is in a transaction or too old."""
    connection.close_at, connection.settings_dict["AUTOCOMMIT"] = None, False
    try:
        yield
    finally:
        connection.settings_dict["AUTOCOMMIT"] = True


def _signed_in(name: str, user: Any) -> RequestSender:
    client = Client()
    client.force_login(user)
    session = client.cookies["sessionid"].value
    return RequestSender(name, {"X-CSRFToken": CSRF}, {"sessionid": session, "csrftoken": CSRF})


def _mark(server: Postgres, world: World) -> int:
    """Append the mark to every text that constraints allow, and return the number of columns with it."""
    url = server.url_for("postgres", database=str(connection.settings_dict["NAME"]))
    marked = 0
    with psycopg.connect(url) as superuser:
        # Past the triggers: no act writes here.
        superuser.execute("SET session_replication_role = replica")
        for model in nouns():
            for field in model._meta.concrete_fields:
                if (marking := _marking_sql(field)) is None:
                    continue
                table, column = sql.Identifier(model._meta.db_table), sql.Identifier(str(field.column))
                statement = sql.SQL(
                    "UPDATE {table} SET {column} = {value} WHERE tenant_id = {tenant} AND {column} IS NOT NULL"
                )
                parts = {"table": table, "column": column, "tenant": sql.Literal(world.tenant.pk)}
                try:
                    with superuser.transaction():
                        cursor = superuser.execute(statement.format(value=marking.format(column=column), **parts))
                except (psycopg.IntegrityError, psycopg.DataError):
                    continue
                marked += bool(cursor.rowcount)
    return marked


def _marking_sql(field: "models.Field[Any, Any]") -> sql.SQL | None:
    """Return the SQL that marks a column; None if it holds no text."""
    if isinstance(field, models.JSONField):
        return sql.SQL(rf"""regexp_replace({{column}}::text, '": "', '": "{MARK} ', 'g')::jsonb""")
    if not isinstance(field, models.CharField | models.TextField) or field.choices or field.unique:
        return None
    if str(field.name).endswith(("_key", "sha256", "hash", "digest")) or field.name in {
        "key",
        "channel",
        "status",
        "limited_act",
    }:
        return None
    max_characters = (field.max_length or 10**6) - len(MARK)
    return None if max_characters < 0 else sql.SQL(f"left({{column}}, {max_characters}) || '{MARK}'")


def id_by_origin(ground: TwoTenantFixture, noun: str, where: str) -> int:
    """Return the id of a row: mine, the other tenant's, or one that nobody has."""
    mine, others = ground.rows[noun]
    return {"mine": int(mine.pk), "others": int(others.pk)}.get(where, UNKNOWN_ID)
