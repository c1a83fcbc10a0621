"""Raw SQL under an actor's database role: the verdict of PostgreSQL itself, without Python's checks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import Error, connection, transaction
from psycopg import Error as PostgresError

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as

Params = Sequence[int | str | None]

NO_RIGHT = "42501"
BROKEN_RULE = "23514"


@dataclass(frozen=True)
class StatementOutcome:
    """The result of a statement: an error code, or the number of rows it touched or found."""

    sqlstate: str = ""
    rows: int = 0
    found: tuple[tuple[Any, ...], ...] = ()  # Any: whatever the columns hold
    constraint: str = ""

    @property
    def passed(self) -> bool:
        """Whether it ran and reached a row."""
        return not self.sqlstate and self.rows > 0


def run_and_undo(actor: Actor | None, statement: str, params: Params = ()) -> StatementOutcome:
    """Run one statement as this actor's role, or as the login role itself, and roll it back."""
    try:
        with transaction.atomic():
            outcome = _run_statement(statement, params) if actor is None else _run_as_actor(actor, statement, params)
            transaction.set_rollback(True)
            return outcome
    except Error as refusal:
        cause = refusal.__cause__
        assert isinstance(cause, PostgresError)
        return StatementOutcome(sqlstate=str(cause.sqlstate), constraint=cause.diag.constraint_name or "")


def _run_as_actor(actor: Actor, statement: str, params: Params) -> StatementOutcome:
    with acting_as(actor):
        return _run_statement(statement, params)


def _run_statement(statement: str, params: Params) -> StatementOutcome:
    with connection.cursor() as cursor:
        cursor.execute(statement, params or None)
        found = tuple(cursor.fetchall()) if cursor.description else ()
        return StatementOutcome(rows=cursor.rowcount, found=found)
