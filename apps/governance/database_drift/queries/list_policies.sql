-- Lists the policies of row security.
--
-- Called by: catalog_facts (apps/governance/database_drift/security_catalog.py)
-- Runs as: login
-- One statement: a single read of the system catalog.
-- Locks: nothing
-- Parameters: none
-- Returns: a fact a row, as text

SELECT class.relname || ': policy ' || policy.polname || ', '
       || CASE WHEN policy.polpermissive THEN 'permissive' ELSE 'restrictive' END || ', '
       || CASE policy.polcmd WHEN 'r' THEN 'select' WHEN 'a' THEN 'insert' WHEN 'w' THEN 'update' WHEN 'd' THEN 'delete'
          ELSE 'all' END || ', to '
       || (SELECT string_agg(CASE WHEN named = 0 THEN 'everybody' ELSE pg_get_userbyid(named) END, ', '
                             ORDER BY pg_get_userbyid(named)) FROM unnest(policy.polroles) AS named)
       || coalesce(', using ' || pg_get_expr(policy.polqual, policy.polrelid, true), '')
       || coalesce(', with check ' || pg_get_expr(policy.polwithcheck, policy.polrelid, true), '')
  FROM pg_policy AS policy JOIN pg_class AS class ON class.oid = policy.polrelid WHERE class.relnamespace = 'public'::regnamespace
