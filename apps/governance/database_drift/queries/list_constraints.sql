-- Lists the constraints of the schema. PostgreSQL 18 has NOT NULL among them ('n'); the column's own fact says that already.
--
-- Called by: catalog_facts (apps/governance/database_drift/security_catalog.py)
-- Runs as: login
-- One statement: a single read of the system catalog.
-- Locks: nothing
-- Parameters: none
-- Returns: a fact a row, as text

SELECT class.relname || ': constraint ' || rule.conname || ' ' || pg_get_constraintdef(rule.oid, true)
  FROM pg_constraint AS rule JOIN pg_class AS class ON class.oid = rule.conrelid
 WHERE rule.contype <> 'n' AND class.relnamespace = 'public'::regnamespace
