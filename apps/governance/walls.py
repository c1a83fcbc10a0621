"""The walls as they stand, one fact a line: row security, policies, triggers, functions, rules of tables, rights, roles.

Migrations build them step by step, some by hand; `walls.txt` is what all of them together come to. A test holds it to a freshly
migrated database, and `sync_policy --check` holds an installation to it, so that neither can drift unseen.
"""

import re
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import connections

from apps.governance.acting import DATABASE_ROLES
from apps.governance.database import ROLES, role_name
from apps.governance.rights import governed_models

DECLARED: Final = Path(__file__).with_name("walls.txt")

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
# References between tenants' rows carry the tenant, and checks hold what no trigger does.
_RULES: Final = """
SELECT class.relname || ': constraint ' || rule.conname || ' ' || pg_get_constraintdef(rule.oid, true)
  FROM pg_constraint AS rule JOIN pg_class AS class ON class.oid = rule.conrelid
 WHERE (rule.contype = 'c' OR rule.contype = 'f' AND cardinality(rule.conkey) > 1) AND class.relnamespace = 'public'::regnamespace
"""
_FUNCTIONS: Final = """
SELECT 'function ' || proc.oid::regprocedure::text || ': '
       || CASE WHEN proc.prosecdef THEN 'as its owner ' || pg_get_userbyid(proc.proowner) || ', ' ELSE '' END
       || coalesce('set ' || array_to_string(proc.proconfig, ', ') || ', ', '')
       || 'called by ' || coalesce((SELECT string_agg(CASE WHEN acl.grantee = 0 THEN 'everybody'
            ELSE pg_get_userbyid(acl.grantee) END, ', ' ORDER BY pg_get_userbyid(acl.grantee))
            FROM aclexplode(proc.proacl) AS acl WHERE acl.grantee <> proc.proowner), 'everybody'),
       proc.prosrc
  FROM pg_proc AS proc
 WHERE proc.pronamespace = 'public'::regnamespace
   AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE objid = proc.oid AND deptype = 'e')
"""
_RIGHTS: Final = """
SELECT held.relname, held.rolname, held.right, string_agg(held.attname, ', ' ORDER BY held.attnum) FROM (
    SELECT class.relname, acl.grantee, acl.privilege_type AS right, NULL AS attname, 0 AS attnum
      FROM pg_class AS class, aclexplode(class.relacl) AS acl
     WHERE acl.grantee <> class.relowner AND class.relnamespace = 'public'::regnamespace
    UNION ALL
    SELECT class.relname, acl.grantee, acl.privilege_type, attribute.attname, attribute.attnum
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


# A list of texts as PostgreSQL tells it once a dump was restored. Means what the migrations wrote, and is told like it.
_ELEMENT: Final = r"'(?:[^']|'')*'::character varying::text"
_RESTORED_LIST: Final = re.compile(rf"ARRAY\[({_ELEMENT}(?:, {_ELEMENT})*)\]")


def standing_walls(using: str = "default") -> list[str]:
    """Every fact of the database at hand, in the names every installation shares."""
    plain = [line for query in (_TABLES, _POLICIES, _TRIGGERS, _RULES) for (line,) in _ask(using, query)]
    functions = [f"{line}, source: {_one_line(source)}" for line, source in _ask(using, _FUNCTIONS)]
    roles = [line for (line,) in _ask(using, _ROLES, [role_name(role) for role in ROLES if role != "owner"])]
    return sorted({_as_migrated(_shared_names(line)) for line in (*plain, *functions, *_rights(using), *roles)})


def walls_drift(using: str = "default") -> list[str]:
    """Each fact that is declared and not there, or there and not declared."""
    declared, standing = set(DECLARED.read_text().splitlines()), set(standing_walls(using))
    gone = [f"{line} (declared in {DECLARED.name}, and not so in the database)" for line in sorted(declared - standing)]
    return [*gone, *(f"{line} (so in the database, and not declared)" for line in sorted(standing - declared))]


def _rights(using: str) -> list[str]:
    # What the policy derives is compared with the policy, not with a list.
    governed = {model._meta.db_table for model in governed_models().values()}
    acting = {role_name(role) for role in set(DATABASE_ROLES.values())}
    return [
        f"{table}: {role} may {right}{f' ({columns})' if columns else ''}"
        for table, role, right, columns in _ask(using, _RIGHTS)
        if right == "SELECT" or table not in governed or role not in acting
    ]


def _one_line(source: str) -> str:
    return " ".join(source.split())


def _as_migrated(line: str) -> str:
    """A list whose elements are cast one by one, cast as a whole."""
    return _RESTORED_LIST.sub(
        lambda found: f"ARRAY[{found[1].replace('::character varying::text', '::character varying')}]::text[]", line
    )


def _shared_names(line: str) -> str:
    names = "|".join(ROLES)
    return re.sub(rf'"?\b{re.escape(settings.DATABASE_ROLE_PREFIX)}_({names})\b"?', r"@\1@", " ".join(line.split()))


def _ask(using: str, query: str, *params: list[str]) -> list[tuple[str, ...]]:
    with connections[using].cursor() as cursor:
        cursor.execute(query, params or None)
        return list(cursor.fetchall())
