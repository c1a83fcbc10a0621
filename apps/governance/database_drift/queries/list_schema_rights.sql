-- Lists who may do what in the schema, beside its owner.
--
-- Called by: catalog_facts (apps/governance/database_drift/security_catalog.py)
-- Runs as: login
-- One statement: a single read of the system catalog.
-- Locks: nothing
-- Parameters: none
-- Returns: a fact a row, as text

SELECT 'schema public: ' || CASE WHEN acl.grantee = 0 THEN 'everybody' ELSE pg_get_userbyid(acl.grantee) END
       || ' may ' || acl.privilege_type
  FROM pg_namespace AS space, aclexplode(space.nspacl) AS acl
 WHERE space.oid = 'public'::regnamespace AND acl.grantee <> space.nspowner
