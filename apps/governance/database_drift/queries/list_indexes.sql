-- Lists the indexes of the schema. The index behind a primary key or a unique constraint is among the constraints.
--
-- Called by: catalog_facts (apps/governance/database_drift/security_catalog.py)
-- Runs as: login
-- One statement: a single read of the system catalog.
-- Locks: nothing
-- Parameters: none
-- Returns: a fact a row, as text

SELECT class.relname || ': ' || substr(pg_get_indexdef(key.indexrelid, 0, true), length('CREATE ') + 1)
       || CASE WHEN key.indisvalid THEN '' ELSE ', not valid' END
  FROM pg_index AS key JOIN pg_class AS class ON class.oid = key.indrelid
 WHERE class.relnamespace = 'public'::regnamespace
   AND NOT EXISTS (SELECT 1 FROM pg_constraint AS rule WHERE rule.conindid = key.indexrelid AND rule.contype IN ('p', 'u', 'x'))
