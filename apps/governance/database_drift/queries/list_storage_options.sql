-- Lists the storage options of tables and views.
--
-- Called by: catalog_facts (apps/governance/database_drift/security_catalog.py)
-- Runs as: login
-- One statement: a single read of the system catalog.
-- Locks: nothing
-- Parameters: none
-- Returns: a fact a row, as text

SELECT class.relname || ': storage ' || array_to_string(class.reloptions, ', ')
  FROM pg_class AS class
 WHERE class.reloptions IS NOT NULL AND class.relkind IN ('r', 'p', 'v', 'm') AND class.relnamespace = 'public'::regnamespace
