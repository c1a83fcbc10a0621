"""Prepared statements, which PostgreSQL plans once per connection and then executes by name.

Planning a long statement takes longer than running it. The name is a hash of the statement's text, so a new release never meets a
plan of an old one. No client relies on the statements of a connection, because a pooler may give it another connection.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Any, Final
from weakref import WeakKeyDictionary

from django.db import ProgrammingError, connection
from django.db.backends.utils import CursorWrapper
from psycopg.errors import DuplicatePreparedStatement, InvalidSqlStatementName

_PARAMETER: Final = re.compile(r"%\((\w+)\)s")

# The statements that each connection is assumed to have prepared.
_statements_by_connection: WeakKeyDictionary[object, set[str]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class PreparedStatement:
    """The two SQL texts of a prepared statement: `plan` prepares it and `call` executes it."""

    name: str
    plan: str
    call: str


@cache
def prepare_statement(sql: str) -> PreparedStatement:
    """Return the PREPARE and EXECUTE texts for `sql`, which must be a constant text with named parameters."""
    names = list(dict.fromkeys(_PARAMETER.findall(sql)))
    numbered = _PARAMETER.sub(lambda found: f"${names.index(found[1]) + 1}", sql)
    name = f"preceptor_{sha256(sql.encode()).hexdigest()[:32]}"
    arguments = f"({', '.join(f'%({each})s' for each in names)})" if names else ""
    return PreparedStatement(name, f"PREPARE {name} AS {numbered.strip()}", f"EXECUTE {name}{arguments}")


def call_prepared(
    cursor: CursorWrapper, before: str, sql: str, params: Mapping[str, Any]
) -> None:  # Any: values of a statement
    """Send `before` and the statement as one message, and leave the cursor at the statement's result.

    PostgreSQL refuses the whole message if the connection already has the plan that it prepares, or lacks the plan that it
    executes. The statement is then sent again unprepared, since a pooler may route the message to another connection.
    """
    statement, has = prepare_statement(sql), _statements_by_connection.setdefault(connection.connection, set())
    try:
        if statement.name in has:
            _send(cursor, [before, statement.call], params)
        else:
            has.add(statement.name)
            _send(cursor, [before, statement.plan, statement.call], params)
    except ProgrammingError as refused:
        if not isinstance(refused.__cause__, InvalidSqlStatementName | DuplicatePreparedStatement):
            raise
        if isinstance(refused.__cause__, InvalidSqlStatementName):
            has.remove(statement.name)
        _send(cursor, [before, sql], params)


def _send(cursor: CursorWrapper, statements: Sequence[str], params: Mapping[str, Any]) -> None:
    cursor.execute("; ".join(statements), params)
    for _ in statements[1:]:
        cursor.nextset()
