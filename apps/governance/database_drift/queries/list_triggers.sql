-- Lists the triggers of the schema that are not internal.
--
-- Called by: catalog_facts (apps/governance/database_drift/security_catalog.py)
-- Runs as: login
-- One statement: a single read of the system catalog.
-- Locks: nothing
-- Parameters: none
-- Returns: a fact a row, as text

SELECT class.relname || ': ' || replace(pg_get_triggerdef(trigger.oid, true), 'CREATE TRIGGER', 'trigger')
       || CASE trigger.tgenabled WHEN 'O' THEN '' WHEN 'D' THEN ', disabled' ELSE ', enabled ' || trigger.tgenabled::text END
  FROM pg_trigger AS trigger JOIN pg_class AS class ON class.oid = trigger.tgrelid
 WHERE NOT trigger.tgisinternal AND class.relnamespace = 'public'::regnamespace
