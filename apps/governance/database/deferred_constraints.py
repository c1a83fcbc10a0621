"""Immediate checks of deferred foreign keys, so that a violation is raised by the act that causes it and not at the commit."""

from functools import cache

from django.db import connection


def check_references(table: str) -> None:
    """Check the deferred foreign keys of a table's rows now, and no other deferred constraint.

    The links of the audit chain stay deferred until the commit, because writing a link blocks the tenant's other commits.
    """
    _check_constraints_now(_foreign_keys_of(table))


def check_references_to(table: str) -> None:
    """Check now that no row refers to a row that was removed from the table."""
    _check_constraints_now(_foreign_keys_to(table))


def _check_constraints_now(names: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET CONSTRAINTS {names} IMMEDIATE; SET CONSTRAINTS {names} DEFERRED")


@cache
def _foreign_keys_of(table: str) -> str:
    return _constraint_names("conrelid = %s::regclass", table)


@cache
def _foreign_keys_to(table: str) -> str:
    return _constraint_names("confrelid = %s::regclass", table)


def _constraint_names(which: str, table: str) -> str:
    names = f"SELECT string_agg(quote_ident(conname), ', ') FROM pg_constraint WHERE {which} AND contype = 'f' AND condeferrable"  # noqa: S608  # a constant
    with connection.cursor() as cursor:
        cursor.execute(names, [table])
        return str(cursor.fetchone()[0])
