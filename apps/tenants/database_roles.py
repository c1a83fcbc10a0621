"""The database roles of an installation. The owner of the database creates them once."""

import psycopg
from psycopg import sql

from apps.governance.database.migration_operations import ROLES, role_name

_IS_SUPERUSER = "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"
# Functions of PostgreSQL that every role may call and that row security does not restrict.
_REVOKE_SESSION_FUNCTIONS = """
DO $$ DECLARE function regprocedure; BEGIN
    FOR function IN
        SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace
            AND proname IN ('pg_advisory_lock', 'pg_advisory_lock_shared', 'pg_try_advisory_lock',
                'pg_try_advisory_lock_shared', 'lo_creat', 'lo_create', 'lo_from_bytea', 'lo_open', 'lo_get', 'lo_put',
                'lo_unlink', 'lo_import', 'lo_export')
    LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', function);
    END LOOP;
END $$
"""


def ensure_roles(owner_url: str, *, login_user: str, login_password: str) -> list[str]:
    """Create missing roles and return their names. All are NOINHERIT, so the login role has almost no rights by itself."""
    with psycopg.connect(owner_url, autocommit=True) as connection:
        known = {row[0] for row in connection.execute("SELECT rolname FROM pg_roles").fetchall()}
        made = [role for role in ROLES if role_name(role) not in known]
        for role in made:
            can_login = sql.SQL("LOGIN" if role == "login" else "NOLOGIN")
            connection.execute(sql.SQL("CREATE ROLE {} NOINHERIT {}").format(_role_identifier(role), can_login))
        if login_password and login_user == role_name("login"):
            connection.execute(
                sql.SQL("ALTER ROLE {} PASSWORD {}").format(_role_identifier("login"), sql.Literal(login_password))
            )
        _grant_memberships(connection)
        forbid_session_objects(connection)
    return [role_name(role) for role in made]


def _grant_memberships(connection: "psycopg.Connection[tuple[object, ...]]") -> None:
    for role in ("operator", "agent", "worker", "staff"):
        connection.execute(sql.SQL("GRANT {} TO {}").format(_role_identifier(role), _role_identifier("login")))
        connection.execute(sql.SQL("GRANT USAGE ON SCHEMA public TO {}").format(_role_identifier(role)))
    connection.execute(sql.SQL("GRANT USAGE ON SCHEMA public TO {}").format(_role_identifier("login")))
    for role in ("owner", "cross_tenant"):
        connection.execute(sql.SQL("GRANT USAGE, CREATE ON SCHEMA public TO {}").format(_role_identifier(role)))
        connection.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(_role_identifier(role)))
    # The owner transfers the SECURITY DEFINER functions to the cross-tenant role. With NOINHERIT, that role's policies do not
    # apply to the owner.
    connection.execute(sql.SQL("GRANT {} TO {}").format(_role_identifier("cross_tenant"), _role_identifier("owner")))


def forbid_session_objects(connection: "psycopg.Connection[tuple[object, ...]]") -> None:
    """Forbid objects that outlive a transaction, since a pooler may hand the connection to another tenant.

    These are temporary tables, which could hide a real one, and, if the owner is a superuser, session locks and large objects.
    """
    database = sql.Identifier(connection.info.dbname)
    connection.execute(sql.SQL("REVOKE TEMPORARY ON DATABASE {} FROM PUBLIC").format(database))
    if connection.execute(_IS_SUPERUSER).fetchone() == (True,):
        connection.execute(_REVOKE_SESSION_FUNCTIONS)


def _role_identifier(role: str) -> sql.Identifier:
    return sql.Identifier(role_name(role))
