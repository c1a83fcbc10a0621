"""The database's own catalog of its tables: a new table joins the tests because it exists."""

from dataclasses import dataclass

from django.db import connection

# Tables without a tenant, each with the reason why no tenant owns its rows.
SHARED_TABLES = {
    "auth_group": "the five roles, the same in every tenant",
    "auth_group_permissions": "Django's own; grants live in guardian's tables",
    "auth_permission": "names of what the policy knows",
    "django_content_type": "names of models",
    "django_admin_log": "the admin's own log; it keeps no text of tenants, change records do",
    "django_migrations": "which schema this is",
    "django_session": "Django's own; unused",
    "tenants_roletemplate": "what a role may do where no tenant said otherwise",
    "tenants_roletemplategroupobjectpermission": "the grants of those",
    "runtime_circuitbreaker": "tenants share the installation's endpoint; only workers know what fails there",
    "runtime_periodictask": "one beat rings for the whole installation; for the login alone",
    "tenants_browsersession": "a browser's session belongs to a person, who may be in several tenants",
    "tenants_accountevent": "what happened to a person's account; for the login alone",
    "tenants_secondfactor": "a person belongs to no tenant; sealed, and for the login alone",
    "tenants_recoverycode": "a person belongs to no tenant; hashed, and for the login alone",
    "tenants_signinattempts": "a name or an address before anybody is known; hashed, and for the login alone",
    "tenants_user": "a person may be in several tenants; row security shows a tenant its own members",
    "tenants_user_groups": "Django's own; membership is a tenant's row",
    "tenants_user_user_permissions": "Django's own; unused",
    "guardian_groupobjectpermission": "guardian's generic table; the direct tables are used instead",
    "guardian_userobjectpermission": "guardian's generic table; the direct tables are used instead",
}
# Tables whose tenant is in a column of another name.
TENANT_COLUMN = {"tenants_tenant": "id", "tenants_tenantgroupobjectpermission": "content_object_id"}


@dataclass(frozen=True)
class TenantTable:
    """One table of tenants' rows, and its tenant column."""

    name: str
    column: str


def all_tables() -> list[str]:
    """Return every table of the schema."""
    rows = _query("SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace")
    return [str(name) for (name,) in rows]


def tenant_tables() -> list[TenantTable]:
    """Return every table that is not shared; one without a tenant column would fail its tests."""
    return [
        TenantTable(name, TENANT_COLUMN.get(name, "tenant_id"))
        for name in sorted(set(all_tables()) - set(SHARED_TABLES))
    ]


def forced_tables() -> set[str]:
    """Return the tables whose row security holds for their owner too."""
    rows = _query(
        "SELECT relname FROM pg_class WHERE relrowsecurity AND relforcerowsecurity"
        " AND relnamespace = 'public'::regnamespace"
    )
    return {str(name) for (name,) in rows}


def has_table_right(role: str, right: str, table: str) -> bool:
    """Return whether a database role has a right on some column of a table, whatever row security allows."""
    asks = "SELECT has_any_column_privilege(%s, %s, %s)"
    if right in {"DELETE", "TRUNCATE"}:
        asks = "SELECT has_table_privilege(%s, %s, %s)"
    return bool(_query(asks, role, table, right)[0][0])


def composite_references() -> set[tuple[str, str, str]]:
    """Return (table, column, target) of every foreign key that includes the tenant."""
    rows = _query(
        "SELECT source.relname, refers.attname, target.relname FROM pg_constraint AS key"
        " JOIN pg_class AS source ON source.oid = key.conrelid JOIN pg_class AS target ON target.oid = key.confrelid"
        " JOIN pg_attribute AS tenant ON tenant.attrelid = key.conrelid AND tenant.attnum = key.conkey[1]"
        " JOIN pg_attribute AS refers ON refers.attrelid = key.conrelid AND refers.attnum = key.conkey[2]"
        " JOIN pg_attribute AS theirs ON theirs.attrelid = key.confrelid AND theirs.attnum = key.confkey[1]"
        " JOIN pg_attribute AS row ON row.attrelid = key.confrelid AND row.attnum = key.confkey[2]"
        " WHERE key.contype = 'f' AND array_length(key.conkey, 1) = 2"
        " AND tenant.attname = 'tenant_id' AND theirs.attname = 'tenant_id' AND row.attname = 'id'"
    )
    return {(str(table), str(column), str(target)) for table, column, target in rows}


def definer_functions() -> dict[str, set[str]]:
    """Return the functions that run with rights of their own, and the database roles that may call them."""
    rows = _query(
        "SELECT proc.proname, role.rolname FROM pg_proc AS proc CROSS JOIN pg_roles AS role"
        " WHERE proc.prosecdef AND proc.pronamespace = 'public'::regnamespace AND NOT role.rolsuper"
        " AND has_function_privilege(role.oid, proc.oid, 'EXECUTE') AND NOT role.rolname LIKE 'pg\\_%%'"
    )
    found: dict[str, set[str]] = {}
    for function, role in rows:
        found.setdefault(str(function), set()).add(str(role))
    return found


def plain_references() -> set[tuple[str, str]]:
    """Return (table, column) of every foreign key by id alone that has one with the tenant beside it."""
    rows = _query(
        "SELECT source.relname, refers.attname FROM pg_constraint AS key JOIN pg_class AS source ON source.oid = key.conrelid"
        " JOIN pg_attribute AS refers ON refers.attrelid = key.conrelid AND refers.attnum = key.conkey[1]"
        " WHERE key.contype = 'f' AND array_length(key.conkey, 1) = 1"
    )
    composed = {(table, column) for table, column, _ in composite_references()}
    return composed & {(str(table), str(column)) for table, column in rows}


def keys_without_tenant() -> set[str]:
    """Return the unique indexes of tenants' tables without the tenant, except primary keys."""
    rows = _query(
        "SELECT indexed.relname, of.relname FROM pg_index AS key JOIN pg_class AS indexed ON indexed.oid = key.indexrelid"
        " JOIN pg_class AS of ON of.oid = key.indrelid WHERE key.indisunique AND NOT key.indisprimary"
        " AND of.relnamespace = 'public'::regnamespace AND NOT EXISTS (SELECT 1 FROM pg_attribute AS part"
        " WHERE part.attrelid = key.indrelid AND part.attnum = ANY (key.indkey) AND part.attname = 'tenant_id')"
    )
    return {str(key) for key, table in rows if table not in SHARED_TABLES}


def readable_sequences() -> set[tuple[str, str]]:
    """Return the sequences that a role of the product may read or draw from."""
    rows = _query(
        "SELECT sequence.relname, role.rolname FROM pg_class AS sequence CROSS JOIN pg_roles AS role"
        " WHERE sequence.relkind = 'S' AND sequence.relnamespace = 'public'::regnamespace AND NOT role.rolsuper"
        " AND NOT role.rolname LIKE 'pg\\_%%' AND NOT role.rolname LIKE '%%\\_owner'"
        " AND has_sequence_privilege(role.oid, sequence.oid, 'SELECT, USAGE, UPDATE')"
    )
    return {(str(sequence), str(role)) for sequence, role in rows}


def other_relations() -> list[str]:
    """Return the views, materialized views and foreign tables of the schema."""
    rows = _query(
        "SELECT relname FROM pg_class WHERE relkind IN ('v', 'm', 'f') AND relnamespace = 'public'::regnamespace"
    )
    return sorted(str(name) for (name,) in rows)


def _query(statement: str, *params: str) -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return list(cursor.fetchall())
