-- Lists some database roles with what they may.
--
-- Called by: catalog_facts (apps/governance/database_drift/security_catalog.py)
-- Runs as: login
-- One statement: a single read of the system catalog.
-- Locks: nothing
-- Parameters:
--   :roles  text[]  the roles
-- Returns: a fact a row, as text

SELECT 'role ' || role.rolname || ': ' || concat_ws(', ',
       CASE WHEN role.rolcanlogin THEN 'signs in' ELSE 'cannot sign in' END,
       CASE WHEN role.rolinherit THEN 'inherits' ELSE 'inherits nothing' END,
       CASE WHEN role.rolsuper THEN 'superuser' END, CASE WHEN role.rolbypassrls THEN 'passes row security' END,
       CASE WHEN role.rolcreaterole THEN 'makes roles' END, CASE WHEN role.rolcreatedb THEN 'makes databases' END,
       'member of ' || coalesce((SELECT string_agg(other.rolname, ', ' ORDER BY other.rolname)
            FROM pg_auth_members AS member JOIN pg_roles AS other ON other.oid = member.roleid
           WHERE member.member = role.oid), 'none'))
  FROM pg_roles AS role WHERE role.rolname = ANY (:roles)
