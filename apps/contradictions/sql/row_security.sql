-- Row security of the tables of contradictions: which rows each database role reaches, and what it may do with them.
-- What the acting roles may write of governed tables is not here: `sync_policy` derives it from the policy.

-- contradictions_contradiction: Rows of the tenant. Agents have no access.
ALTER TABLE contradictions_contradiction ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY contradictions_contradiction_tenant ON contradictions_contradiction
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
GRANT SELECT ON contradictions_contradiction TO @operator@, @worker@, @staff@;

-- contradictions_contradictionlook: Workers lease the check of an agent here and record its extent, members and support
-- staff read it, agents have no access. The cross-tenant role reads leases and requests.
ALTER TABLE contradictions_contradictionlook ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY contradictions_contradictionlook_tenant ON contradictions_contradictionlook
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY contradictions_contradictionlook_crossing ON contradictions_contradictionlook TO @crossing@
    USING (true)
    WITH CHECK (true);
GRANT SELECT ON contradictions_contradictionlook TO @operator@, @staff@;
GRANT SELECT, INSERT, UPDATE (lease_until, night, looked_at, texts, pairs, is_whole, asked_at) ON
    contradictions_contradictionlook TO @worker@;
GRANT SELECT (lease_until, night, agent_id, tenant_id, asked_at) ON contradictions_contradictionlook TO @crossing@;
