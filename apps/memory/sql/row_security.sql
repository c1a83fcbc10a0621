-- Row security of the tables of memory: which rows each database role reaches, and what it may do with them.
-- What the acting roles may write of governed tables is not here: `sync_policy` derives it from the policy.

-- memory_agentmemory: An agent reaches its own memory only, and never marks the source as an operator.
ALTER TABLE memory_agentmemory ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY memory_agentmemory_tenant ON memory_agentmemory
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY memory_agentmemory_agent ON memory_agentmemory AS RESTRICTIVE TO @agent@
    USING (agent_id = app_agent())
    WITH CHECK ((agent_id = app_agent()) AND (taint <> 'operator'));
GRANT SELECT ON memory_agentmemory TO @operator@, @worker@, @agent@, @staff@;

-- memory_customerprofile: All agents of the tenant share the profiles. In a turn an agent reaches only the profile of the
-- customer it serves, and none while that customer is unverified.
ALTER TABLE memory_customerprofile ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY memory_customerprofile_tenant ON memory_customerprofile
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY memory_customerprofile_agent ON memory_customerprofile AS RESTRICTIVE TO @agent@
    USING (app_customer() IS NULL OR end_user_key::text = app_customer() AND app_customer_is_proven())
    WITH CHECK (app_customer() IS NULL OR end_user_key::text = app_customer() AND app_customer_is_proven());
GRANT SELECT ON memory_customerprofile TO @operator@, @worker@, @agent@, @staff@;

-- memory_memoryblock: An agent reaches its own blocks only, and never marks the source as an operator. The cross-tenant role
-- reads the labels for full-text search.
ALTER TABLE memory_memoryblock ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY memory_memoryblock_tenant ON memory_memoryblock
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY memory_memoryblock_agent ON memory_memoryblock AS RESTRICTIVE TO @agent@
    USING (agent_id = app_agent())
    WITH CHECK ((agent_id = app_agent()) AND (taint <> 'operator'));
CREATE POLICY memory_memoryblock_cross_tenant ON memory_memoryblock FOR SELECT TO @cross_tenant@ USING (true);
GRANT SELECT ON memory_memoryblock TO @operator@, @worker@, @agent@, @staff@;
GRANT SELECT (id, updated_at, label, tenant_id) ON memory_memoryblock TO @cross_tenant@;

-- memory_memoryline: The history of memory lines: one row per line and the time it was current. An agent records lines of
-- its own texts only. Agents and workers end or date lines; only operators change the author and the source. The cross-
-- tenant role reads the lines for full-text search.
ALTER TABLE memory_memoryline ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY memory_memoryline_tenant ON memory_memoryline
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY memory_memoryline_agent ON memory_memoryline AS RESTRICTIVE TO @agent@
    USING (agent_id = app_agent())
    WITH CHECK ((agent_id = app_agent()) AND ((memory_id IS NULL OR EXISTS (SELECT 1 FROM memory_agentmemory AS text WHERE text.id = memory_id)) AND (block_id IS NULL OR EXISTS (SELECT 1 FROM memory_memoryblock AS text WHERE text.id = block_id))));
CREATE POLICY memory_memoryline_cross_tenant ON memory_memoryline FOR SELECT TO @cross_tenant@ USING (true);
GRANT SELECT, INSERT, UPDATE (author, taint, last_version, status, ended_at, superseded_by_id, review_after,
    valid_until) ON memory_memoryline TO @operator@;
GRANT SELECT, INSERT, UPDATE (last_version, status, ended_at, superseded_by_id, review_after, valid_until) ON
    memory_memoryline TO @worker@, @agent@;
GRANT SELECT ON memory_memoryline TO @staff@;
GRANT SELECT (id, text, created_at, tenant_id) ON memory_memoryline TO @cross_tenant@;

-- memory_memorytier: Distilled memory tiers: workers write them, operators correct, approve or clear them. An agent sees its
-- own and writes none.
ALTER TABLE memory_memorytier ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY memory_memorytier_tenant ON memory_memorytier
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY memory_memorytier_agent ON memory_memorytier AS RESTRICTIVE TO @agent@
    USING (agent_id = app_agent())
    WITH CHECK (agent_id = app_agent());
GRANT SELECT ON memory_memorytier TO @operator@, @worker@, @agent@, @staff@;

-- memory_profileline: The history of profile lines. An agent reaches the lines of the profiles it sees. Agents and workers
-- end or date lines; only operators change the author and the source. The cross-tenant role reads the lines for full-text
-- search.
ALTER TABLE memory_profileline ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY memory_profileline_tenant ON memory_profileline
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY memory_profileline_agent ON memory_profileline AS RESTRICTIVE TO @agent@
    USING (EXISTS (SELECT 1 FROM memory_customerprofile AS profile WHERE profile.id = profile_id))
    WITH CHECK (EXISTS (SELECT 1 FROM memory_customerprofile AS profile WHERE profile.id = profile_id));
CREATE POLICY memory_profileline_cross_tenant ON memory_profileline FOR SELECT TO @cross_tenant@ USING (true);
GRANT SELECT, INSERT, UPDATE (author, taint, last_version, status, ended_at, superseded_by_id, review_after,
    valid_until) ON memory_profileline TO @operator@;
GRANT SELECT, INSERT, UPDATE (last_version, status, ended_at, superseded_by_id, review_after, valid_until) ON
    memory_profileline TO @worker@, @agent@;
GRANT SELECT ON memory_profileline TO @staff@;
GRANT SELECT (id, text, source_conversation_id, status, created_at, tenant_id) ON memory_profileline TO @cross_tenant@;
