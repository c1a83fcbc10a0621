-- Lists the functions of the schema that no extension owns. Without a list of rights PostgreSQL lets everybody execute; with an
-- empty one, only the owner may.
--
-- Called by: catalog_facts (apps/governance/database_drift/security_catalog.py)
-- Runs as: login
-- One statement: a single read of the system catalog.
-- Locks: nothing
-- Parameters: none
-- Returns: a row for each function: the fact, as text, and its source, as text

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
