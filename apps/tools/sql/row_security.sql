-- Row security of the tables of tools: which rows each database role reaches, and what it may do with them.
-- What the acting roles may write of governed tables is not here: `sync_policy` derives it from the policy.

-- tools_agenttool: Tools that operators allow an agent. Agents see none directly; the cross-tenant role reads the names for
-- them.
ALTER TABLE tools_agenttool ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tools_agenttool_tenant ON tools_agenttool
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY tools_agenttool_cross_tenant ON tools_agenttool TO @cross_tenant@ USING (true) WITH CHECK (true);
GRANT SELECT ON tools_agenttool TO @operator@, @worker@, @staff@;
GRANT SELECT (definition, agent_id, tenant_id, tool_id) ON tools_agenttool TO @cross_tenant@;

-- tools_servertool: Tools that servers offer, as workers last read them; operators only read. Agents see none directly; the
-- cross-tenant role reads the names for them.
ALTER TABLE tools_servertool ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tools_servertool_tenant ON tools_servertool
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY tools_servertool_cross_tenant ON tools_servertool TO @cross_tenant@ USING (true) WITH CHECK (true);
GRANT SELECT ON tools_servertool TO @operator@, @staff@;
GRANT SELECT, INSERT, UPDATE (definition, sha256, validation_error, is_listed, updated_at) ON tools_servertool TO @worker@;
GRANT SELECT (id, name, qualified_name, tenant_id) ON tools_servertool TO @cross_tenant@;

-- tools_toolapproval: Tool approvals: workers request and use them, operators decide. Agents see none.
ALTER TABLE tools_toolapproval ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tools_toolapproval_tenant ON tools_toolapproval
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
GRANT SELECT ON tools_toolapproval TO @operator@, @worker@, @staff@;

-- tools_toollisting: When each server's tool list was read and is next due; workers write it. Agents see none. The cross-
-- tenant role reads the due time.
ALTER TABLE tools_toollisting ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tools_toollisting_tenant ON tools_toollisting
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY tools_toollisting_cross_tenant ON tools_toollisting TO @cross_tenant@ USING (true) WITH CHECK (true);
GRANT SELECT ON tools_toollisting TO @operator@, @staff@;
GRANT SELECT, INSERT, UPDATE (due_at, listed_at, protocol_version, failure) ON tools_toollisting TO @worker@;
GRANT SELECT (due_at, tenant_id, server_id) ON tools_toollisting TO @cross_tenant@;

-- tools_toolserver: Rows of the tenant; agents see none. The cross-tenant role reads which servers are active.
ALTER TABLE tools_toolserver ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tools_toolserver_tenant ON tools_toolserver
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY tools_toolserver_cross_tenant ON tools_toolserver TO @cross_tenant@ USING (true) WITH CHECK (true);
GRANT SELECT ON tools_toolserver TO @operator@, @worker@, @staff@;
GRANT SELECT (id, is_active, tenant_id) ON tools_toolserver TO @cross_tenant@;
