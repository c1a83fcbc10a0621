-- Grants of roles in a whole tenant: the governed rows, and the right to write guardian's rows behind them.

-- tenants_rolegrants: Tenant and id together are unique, so that references can carry the tenant.
ALTER TABLE tenants_rolegrants ADD CONSTRAINT tenants_rolegrants_tenant_row
    UNIQUE (tenant_id, id);

-- tenants_rolegrants: Every update raises the version, and Python refuses a write that read an earlier one.
CREATE TRIGGER stamp_version BEFORE UPDATE ON tenants_rolegrants FOR EACH ROW EXECUTE FUNCTION stamp_version();

-- tenants_rolegrants: Rows of the tenant; agents see none. What an agent holds is read from guardian's rows.
ALTER TABLE tenants_rolegrants ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants_rolegrants_tenant ON tenants_rolegrants
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
GRANT SELECT ON tenants_rolegrants TO @operator@, @worker@, @staff@;

-- tenants_tenantgroupobjectpermission: Operators insert and delete guardian's rows together with the governed row.
GRANT INSERT, DELETE ON tenants_tenantgroupobjectpermission TO @operator@;
