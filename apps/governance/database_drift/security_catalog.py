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
from apps.governance.database_drift.role_grants import governed_models

CATALOG_FILE: Final = Path(__file__).with_name("security_catalog.txt")

_TABLES: Final = """
SELECT class.relname || ': row security ' || CASE WHEN NOT class.relrowsecurity THEN 'off'
       WHEN class.relforcerowsecurity THEN 'forced' ELSE 'on, not for the owner' END
       || CASE WHEN class.relowner = (SELECT relowner FROM pg_class WHERE oid = 'django_migrations'::regclass)
          THEN '' ELSE ', owned by ' || pg_get_userbyid(class.relowner) END
  FROM pg_class AS class WHERE class.relkind IN ('r', 'p', 'v', 'm') AND class.relnamespace = 'public'::regnamespace
"""
_POLICIES: Final = """
SELECT class.relname || ': policy ' || policy.polname || ', '
       || CASE WHEN policy.polpermissive THEN 'permissive' ELSE 'restrictive' END || ', '
       || CASE policy.polcmd WHEN 'r' THEN 'select' WHEN 'a' THEN 'insert' WHEN 'w' THEN 'update' WHEN 'd' THEN 'delete'
          ELSE 'all' END || ', to '
       || (SELECT string_agg(CASE WHEN named = 0 THEN 'everybody' ELSE pg_get_userbyid(named) END, ', '
                             ORDER BY pg_get_userbyid(named)) FROM unnest(policy.polroles) AS named)
       || coalesce(', using ' || pg_get_expr(policy.polqual, policy.polrelid, true), '')
       || coalesce(', with check ' || pg_get_expr(policy.polwithcheck, policy.polrelid, true), '')
  FROM pg_policy AS policy JOIN pg_class AS class ON class.oid = policy.polrelid WHERE class.relnamespace = 'public'::regnamespace
"""
_TRIGGERS: Final = """
SELECT class.relname || ': ' || replace(pg_get_triggerdef(trigger.oid, true), 'CREATE TRIGGER', 'trigger')
       || CASE trigger.tgenabled WHEN 'O' THEN '' WHEN 'D' THEN ', disabled' ELSE ', enabled ' || trigger.tgenabled::text END
  FROM pg_trigger AS trigger JOIN pg_class AS class ON class.oid = trigger.tgrelid
 WHERE NOT trigger.tgisinternal AND class.relnamespace = 'public'::regnamespace
"""
_COLUMNS: Final = """
SELECT class.relname || ': column ' || attribute.attname || ' ' || format_type(attribute.atttypid, attribute.atttypmod)
       || CASE WHEN attribute.attcollation <> type.typcollation THEN ' collate ' || attribute.attcollation::regcollation::text
          ELSE '' END
       || CASE WHEN attribute.attnotnull THEN ' not null' ELSE '' END
       || CASE attribute.attidentity WHEN 'd' THEN ' identity by default' WHEN 'a' THEN ' identity always' ELSE '' END
       || CASE attribute.attgenerated WHEN '' THEN coalesce(' default ' || pg_get_expr(preset.adbin, preset.adrelid, true), '')
          ELSE ' generated as ' || pg_get_expr(preset.adbin, preset.adrelid, true) END
  FROM pg_attribute AS attribute JOIN pg_class AS class ON class.oid = attribute.attrelid
       JOIN pg_type AS type ON type.oid = attribute.atttypid
       LEFT JOIN pg_attrdef AS preset ON preset.adrelid = attribute.attrelid AND preset.adnum = attribute.attnum
 WHERE class.relkind IN ('r', 'p', 'v', 'm') AND class.relnamespace = 'public'::regnamespace
   AND attribute.attnum > 0 AND NOT attribute.attisdropped
"""
_STORAGE: Final = """
SELECT class.relname || ': storage ' || array_to_string(class.reloptions, ', ')
  FROM pg_class AS class
 WHERE class.reloptions IS NOT NULL AND class.relkind IN ('r', 'p', 'v', 'm') AND class.relnamespace = 'public'::regnamespace
"""
# PostgreSQL 18 lists NOT NULL here too ('n'); the column's own line says that already.
_CONSTRAINTS: Final = """
SELECT class.relname || ': constraint ' || rule.conname || ' ' || pg_get_constraintdef(rule.oid, true)
  FROM pg_constraint AS rule JOIN pg_class AS class ON class.oid = rule.conrelid
 WHERE rule.contype <> 'n' AND class.relnamespace = 'public'::regnamespace
"""
# The index behind a primary key or a unique constraint has a line already.
_INDEXES: Final = """
SELECT class.relname || ': ' || substr(pg_get_indexdef(key.indexrelid, 0, true), length('CREATE ') + 1)
       || CASE WHEN key.indisvalid THEN '' ELSE ', not valid' END
  FROM pg_index AS key JOIN pg_class AS class ON class.oid = key.indrelid
 WHERE class.relnamespace = 'public'::regnamespace
   AND NOT EXISTS (SELECT 1 FROM pg_constraint AS rule WHERE rule.conindid = key.indexrelid AND rule.contype IN ('p', 'u', 'x'))
"""
# Without a list of rights PostgreSQL lets everybody execute; with an empty one, only the owner may.
_FUNCTIONS: Final = """
SELECT 'function ' || proc.proname || '(' || pg_get_function_arguments(proc.oid) || ') returns '
       || pg_get_function_result(proc.oid) || ': '
       || language.lanname || CASE proc.provolatile WHEN 'i' THEN ' immutable' WHEN 's' THEN ' stable' ELSE '' END
       || CASE WHEN proc.proisstrict THEN ' strict' ELSE '' END || CASE WHEN proc.proleakproof THEN ' leakproof' ELSE '' END
       || CASE proc.proparallel WHEN 's' THEN ' parallel safe' WHEN 'r' THEN ' parallel restricted' ELSE '' END || ', '
       || CASE WHEN proc.prosecdef THEN 'as its owner ' || pg_get_userbyid(proc.proowner) || ', '
          WHEN proc.proowner = (SELECT relowner FROM pg_class WHERE oid = 'django_migrations'::regclass) THEN ''
          ELSE 'owned by ' || pg_get_userbyid(proc.proowner) || ', ' END
       || coalesce('set ' || array_to_string(proc.proconfig, ', ') || ', ', '')
       || 'called by ' || CASE WHEN proc.proacl IS NULL THEN 'everybody' ELSE coalesce(
            (SELECT string_agg(CASE WHEN acl.grantee = 0 THEN 'everybody' ELSE pg_get_userbyid(acl.grantee) END, ', '
                               ORDER BY pg_get_userbyid(acl.grantee))
               FROM aclexplode(proc.proacl) AS acl WHERE acl.grantee <> proc.proowner), 'its owner alone') END,
       proc.prosrc
  FROM pg_proc AS proc JOIN pg_language AS language ON language.oid = proc.prolang
 WHERE proc.pronamespace = 'public'::regnamespace
   AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE objid = proc.oid AND deptype = 'e')
"""
_SCHEMA: Final = """
SELECT 'schema public: ' || CASE WHEN acl.grantee = 0 THEN 'everybody' ELSE pg_get_userbyid(acl.grantee) END
       || ' may ' || acl.privilege_type
  FROM pg_namespace AS space, aclexplode(space.nspacl) AS acl
 WHERE space.oid = 'public'::regnamespace AND acl.grantee <> space.nspowner
"""
_RIGHTS: Final = """
SELECT held.relname, held.rolname, held.right, string_agg(held.attname, ', ' ORDER BY held.attname) FROM (
    SELECT class.relname, acl.grantee, acl.privilege_type AS right, NULL AS attname
      FROM pg_class AS class, aclexplode(class.relacl) AS acl
     WHERE acl.grantee <> class.relowner AND class.relnamespace = 'public'::regnamespace
    UNION ALL
    SELECT class.relname, acl.grantee, acl.privilege_type, attribute.attname
      FROM pg_class AS class JOIN pg_attribute AS attribute ON attribute.attrelid = class.oid,
           aclexplode(attribute.attacl) AS acl
     WHERE acl.grantee <> class.relowner AND class.relnamespace = 'public'::regnamespace
    ) AS given, LATERAL (SELECT given.*, CASE WHEN given.grantee = 0 THEN 'everybody'
        ELSE pg_get_userbyid(given.grantee) END AS rolname) AS held
 GROUP BY held.relname, held.rolname, held.right, held.attname IS NULL
"""
_ROLES: Final = """
SELECT 'role ' || role.rolname || ': ' || concat_ws(', ',
       CASE WHEN role.rolcanlogin THEN 'signs in' ELSE 'cannot sign in' END,
       CASE WHEN role.rolinherit THEN 'inherits' ELSE 'inherits nothing' END,
       CASE WHEN role.rolsuper THEN 'superuser' END, CASE WHEN role.rolbypassrls THEN 'passes row security' END,
       CASE WHEN role.rolcreaterole THEN 'makes roles' END, CASE WHEN role.rolcreatedb THEN 'makes databases' END,
       'member of ' || coalesce((SELECT string_agg(other.rolname, ', ' ORDER BY other.rolname)
            FROM pg_auth_members AS member JOIN pg_roles AS other ON other.oid = member.roleid
           WHERE member.member = role.oid), 'none'))
  FROM pg_roles AS role WHERE role.rolname = ANY (%s)
"""

_SECURITY: Final = (_TABLES, _CONSTRAINTS, _POLICIES, _TRIGGERS, _SCHEMA)
_STRUCTURE: Final = (_COLUMNS, _STORAGE, _INDEXES)
# An index added or a table tuned by hand gives nobody access, so a process serves in spite of such a line.
_IS_STRUCTURE: Final = re.compile(
    r"\w+: (column|storage|INDEX|UNIQUE INDEX|constraint \w+ (UNIQUE|PRIMARY KEY|FOREIGN KEY \(\w+\))) ?"
)

# A list of texts as PostgreSQL tells it once a dump was restored. Means what the migrations wrote, and is told like it.
_ELEMENT: Final = r"'(?:[^']|'')*'::character varying::text"
_RESTORED_ARRAY: Final = re.compile(rf"ARRAY\[({_ELEMENT}(?:, {_ELEMENT})*)\]")


def catalog_facts(using: str = "default") -> list[str]:
    """Every fact of the database at hand, in the names every installation shares."""
    return _facts(using, (*_SECURITY, *_STRUCTURE))


def catalog_drift(using: str = "default") -> list[str]:
    """Each fact that is declared and not there, or there and not declared."""
    return _differences(set(CATALOG_FILE.read_text().splitlines()), set(catalog_facts(using)))


def security_drift(using: str = "default") -> list[str]:
    """The same without columns, indexes, unique keys and plain references: what a process looks at before it serves."""
    declared = {line for line in CATALOG_FILE.read_text().splitlines() if not _IS_STRUCTURE.match(line)}
    return _differences(declared, {line for line in _facts(using, _SECURITY) if not _IS_STRUCTURE.match(line)})


def _facts(using: str, queries: tuple[str, ...]) -> list[str]:
    plain = [line for query in queries for (line,) in _run_query(using, query)]
    functions = [f"{line}, source: {_one_line(source)}" for line, source in _run_query(using, _FUNCTIONS)]
    roles = [line for (line,) in _run_query(using, _ROLES, [role_name(role) for role in ROLES if role != "owner"])]
    return sorted(
        {_normalise_array_casts(_replace_role_prefix(line)) for line in (*plain, *functions, *_rights(using), *roles)}
    )


def _differences(declared: set[str], standing: set[str]) -> list[str]:
    gone = [
        f"{line} (declared in {CATALOG_FILE.name}, and not so in the database)" for line in sorted(declared - standing)
    ]
    return [*gone, *(f"{line} (so in the database, and not declared)" for line in sorted(standing - declared))]


def _rights(using: str) -> list[str]:
    # What the policy derives is compared with the policy, not with a list.
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
    """A list whose elements are cast one by one, cast as a whole."""
    return _RESTORED_ARRAY.sub(
        lambda found: f"ARRAY[{found[1].replace('::character varying::text', '::character varying')}]::text[]", line
    )


def _replace_role_prefix(line: str) -> str:
    names = "|".join(ROLES)
    return re.sub(rf'"?\b{re.escape(settings.DATABASE_ROLE_PREFIX)}_({names})\b"?', r"@\1@", " ".join(line.split()))


def _run_query(using: str, query: str, *params: list[str]) -> list[tuple[str, ...]]:
    with connections[using].cursor() as cursor:
        cursor.execute(query, params or None)
        return list(cursor.fetchall())
