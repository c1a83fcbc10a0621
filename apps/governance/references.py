"""Foreign keys, which wait for the commit, asked at once: later nobody could say any more which act was refused."""

from functools import cache

from django.db import connection


def check_references(table: str) -> None:
    """Check the references of what was written to a table, and nothing else.

    The links of the audit chain wait for the commit too, and have to: whoever writes one holds up the tenant's other commits.
    """
    names = _deferred(table)
    with connection.cursor() as cursor:
        cursor.execute(f"SET CONSTRAINTS {names} IMMEDIATE; SET CONSTRAINTS {names} DEFERRED")


@cache
def _deferred(table: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT string_agg(quote_ident(conname), ', ') FROM pg_constraint"
            " WHERE conrelid = %s::regclass AND contype = 'f' AND condeferrable",
            [table],
        )
        return str(cursor.fetchone()[0])
