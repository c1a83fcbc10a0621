"""Foreign keys, which wait for the commit, asked at once: later nobody could say any more which act was refused."""

from functools import cache

from django.db import connection


def check_references(table: str) -> None:
    """Check the references of what was written to a table, and nothing else.

    The links of the audit chain wait for the commit too, and have to: whoever writes one holds up the tenant's other commits.
    """
    _check_constraints_now(_foreign_keys_of(table))


def check_references_to(table: str) -> None:
    """Check whether something still refers to what was removed from a table."""
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
