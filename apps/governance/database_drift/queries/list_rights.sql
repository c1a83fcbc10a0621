-- Lists the rights on tables and columns that others than the owner hold.
--
-- Called by: catalog_facts (apps/governance/database_drift/security_catalog.py)
-- Runs as: login
-- One statement: a single read of the system catalog.
-- Locks: nothing
-- Parameters: none
-- Returns: a row for each table, role and right: table, role, right, and its columns, null for the whole table

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
