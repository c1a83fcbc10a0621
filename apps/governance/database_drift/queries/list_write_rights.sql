-- Lists the rights to write, on some tables and their columns, that some roles hold beside the owner.
--
-- Called by: rights_held (apps/governance/database_drift/role_grants.py)
-- Runs as: login
-- One statement: a single read of the system catalog.
-- Locks: nothing
-- Parameters:
--   :tables  text[]  the tables
--   :roles   text[]  the roles
-- Returns: a row for each table, role and right

SELECT held.relname, held.rolname, held.right
  FROM (SELECT class.relname, class.relowner, acl.grantee, role.rolname, acl.privilege_type AS right
          FROM pg_class AS class, aclexplode(class.relacl) AS acl
               JOIN pg_roles AS role ON role.oid = acl.grantee
        UNION ALL
        SELECT class.relname, class.relowner, acl.grantee, role.rolname,
               acl.privilege_type || ' (' || attribute.attname || ')'
          FROM pg_class AS class JOIN pg_attribute AS attribute ON attribute.attrelid = class.oid,
               aclexplode(attribute.attacl) AS acl
               JOIN pg_roles AS role ON role.oid = acl.grantee) AS held
 WHERE held.relname = ANY (:tables) AND held.rolname = ANY (:roles) AND held.grantee <> held.relowner
   AND held.right NOT LIKE 'SELECT%'
