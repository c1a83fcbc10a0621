"""Statements that the server plans once per connection and afterwards calls by name.

The plan of a long statement costs more than what it does. The name is of the text's own bytes, so another release never
meets a plan of this one; and no client counts on what a connection has, because a pooler may give it another one.
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

# Which statements the present connection is thought to have.
_statements_by_connection: WeakKeyDictionary[object, set[str]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class PreparedStatement:
    """A statement's two texts: the one that has it planned and the one that calls it."""

    name: str
    plan: str
    call: str


@cache
def prepare_statement(sql: str) -> PreparedStatement:
    """The texts of a statement of constants, whose parameters are written by name."""
    names = list(dict.fromkeys(_PARAMETER.findall(sql)))
    numbered = _PARAMETER.sub(lambda found: f"${names.index(found[1]) + 1}", sql)
    name = f"preceptor_{sha256(sql.encode()).hexdigest()[:32]}"
    arguments = f"({', '.join(f'%({each})s' for each in names)})" if names else ""
    return PreparedStatement(name, f"PREPARE {name} AS {numbered.strip()}", f"EXECUTE {name}{arguments}")


def call_prepared(
    cursor: CursorWrapper, before: str, sql: str, params: Mapping[str, Any]
) -> None:  # Any: values of a statement
    """Send `before` and the statement as one message, and leave the cursor at the statement's answer.

    A message that is refused because the connection has the plan, or has it not, did nothing. It is sent again without a plan,
    since a pooler may answer the second from another connection than the first.
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
