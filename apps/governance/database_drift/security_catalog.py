"""A catalog of the schema, one fact a line: tables, columns, constraints, indexes, row security, functions, grants, roles.

`security_catalog.txt` is the catalog of a freshly migrated database. A test compares the two, and `sync_policy --check` compares an
installation with it, so that neither can drift unseen. Lines are sorted by name, never by position: a database that was built in
another order, or restored from a dump, has the same catalog.
"""

import re
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import connections

from apps.governance.database.actor_transaction import DATABASE_ROLES
from apps.governance.database.migration_operations import ROLES, role_name
from apps.governance.database.sql_files import load_query
from apps.governance.database_drift.role_grants import governed_models

CATALOG_FILE: Final = Path(__file__).with_name("security_catalog.txt")

_TABLES: Final = load_query("apps/governance/database_drift/queries/list_tables.sql")
_POLICIES: Final = load_query("apps/governance/database_drift/queries/list_policies.sql")
_TRIGGERS: Final = load_query("apps/governance/database_drift/queries/list_triggers.sql")
_COLUMNS: Final = load_query("apps/governance/database_drift/queries/list_columns.sql")
_STORAGE: Final = load_query("apps/governance/database_drift/queries/list_storage_options.sql")
_CONSTRAINTS: Final = load_query("apps/governance/database_drift/queries/list_constraints.sql")
_INDEXES: Final = load_query("apps/governance/database_drift/queries/list_indexes.sql")
_FUNCTIONS: Final = load_query("apps/governance/database_drift/queries/list_functions.sql")
_SCHEMA: Final = load_query("apps/governance/database_drift/queries/list_schema_rights.sql")
_RIGHTS: Final = load_query("apps/governance/database_drift/queries/list_rights.sql")
_ROLES: Final = load_query("apps/governance/database_drift/queries/list_roles.sql")

_SECURITY: Final = (_TABLES, _CONSTRAINTS, _POLICIES, _TRIGGERS, _SCHEMA)
_STRUCTURE: Final = (_COLUMNS, _STORAGE, _INDEXES)
# An index or a storage option that was added by hand gives nobody access, so processes start despite such a difference.
_IS_STRUCTURE: Final = re.compile(
    r"\w+: (column|storage|INDEX|UNIQUE INDEX|constraint \w+ (UNIQUE|PRIMARY KEY|FOREIGN KEY \(\w+\))) ?"
)

# After a restore from a dump, PostgreSQL prints a list of texts in this form. It is rewritten to the form that migrations
# produce.
_ELEMENT: Final = r"'(?:[^']|'')*'::character varying::text"
_RESTORED_ARRAY: Final = re.compile(rf"ARRAY\[({_ELEMENT}(?:, {_ELEMENT})*)\]")


def catalog_facts(using: str = "default") -> list[str]:
    """Return every fact of this database, with role names that are the same in every installation."""
    return _facts(using, (*_SECURITY, *_STRUCTURE))


def catalog_drift(using: str = "default") -> list[str]:
    """Return a line for each declared fact that the database lacks, and for each fact of the database that is not declared."""
    return _differences(set(CATALOG_FILE.read_text().splitlines()), set(catalog_facts(using)))


def security_drift(using: str = "default") -> list[str]:
    """Return `catalog_drift` without columns, indexes, unique keys and plain foreign keys.

    Processes check this before they start.
    """
    declared = {line for line in CATALOG_FILE.read_text().splitlines() if not _IS_STRUCTURE.match(line)}
    return _differences(declared, {line for line in _facts(using, _SECURITY) if not _IS_STRUCTURE.match(line)})


def _facts(using: str, queries: tuple[str, ...]) -> list[str]:
    plain = [line for query in queries for (line,) in _run_query(using, query)]
    functions = [f"{line}, source: {_one_line(source)}" for line, source in _run_query(using, _FUNCTIONS)]
    names = [role_name(role) for role in ROLES if role != "owner"]
    roles = [line for (line,) in _run_query(using, _ROLES, roles=names)]
    return sorted(
        {_normalise_array_casts(_replace_role_prefix(line)) for line in (*plain, *functions, *_rights(using), *roles)}
    )


def _differences(declared: set[str], standing: set[str]) -> list[str]:
    gone = [
        f"{line} (declared in {CATALOG_FILE.name}, and not so in the database)" for line in sorted(declared - standing)
    ]
    return [*gone, *(f"{line} (so in the database, and not declared)" for line in sorted(standing - declared))]


def _rights(using: str) -> list[str]:
    # Privileges that the policy determines are compared with the policy (`rights_drift`), not with the file.
    governed = {model._meta.db_table for model in governed_models().values()}
    acting = {role_name(role) for role in set(DATABASE_ROLES.values())}
    return [
        f"{table}: {role} may {right}{f' ({columns})' if columns else ''}"
        for table, role, right, columns in _run_query(using, _RIGHTS)
        if right == "SELECT" or table not in governed or role not in acting
    ]


def _one_line(source: str) -> str:
    return " ".join(source.split())


def _normalise_array_casts(line: str) -> str:
    """Rewrite an array whose elements are each cast as an array with a single cast."""
    return _RESTORED_ARRAY.sub(
        lambda found: f"ARRAY[{found[1].replace('::character varying::text', '::character varying')}]::text[]", line
    )


def _replace_role_prefix(line: str) -> str:
    names = "|".join(ROLES)
    return re.sub(rf'"?\b{re.escape(settings.DATABASE_ROLE_PREFIX)}_({names})\b"?', r"@\1@", " ".join(line.split()))


def _run_query(using: str, query: str, **parameters: list[str]) -> list[tuple[str, ...]]:
    with connections[using].cursor() as cursor:
        cursor.execute(query, parameters)
        return list(cursor.fetchall())
