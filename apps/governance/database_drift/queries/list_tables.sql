-- Lists the tables and views of the schema with their row security.
--
-- Called by: catalog_facts (apps/governance/database_drift/security_catalog.py)
-- Runs as: login
-- One statement: a single read of the system catalog.
-- Locks: nothing
-- Parameters: none
-- Returns: a fact a row, as text

SELECT class.relname || ': row security ' || CASE WHEN NOT class.relrowsecurity THEN 'off'
       WHEN class.relforcerowsecurity THEN 'forced' ELSE 'on, not for the owner' END
       || CASE WHEN class.relowner = (SELECT relowner FROM pg_class WHERE oid = 'django_migrations'::regclass)
          THEN '' ELSE ', owned by ' || pg_get_userbyid(class.relowner) END
  FROM pg_class AS class WHERE class.relkind IN ('r', 'p', 'v', 'm') AND class.relnamespace = 'public'::regnamespace
