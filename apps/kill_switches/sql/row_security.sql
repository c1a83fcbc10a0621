-- Row security of the tables of switches: which rows each database role reaches, and what it may do with them.
-- What the acting roles may write of governed tables is not here: `sync_policy` derives it from the policy.

-- kill_switches_killswitch: Members, workers and support staff see the kill switches of the tenant. An agent sees those for itself
-- and for all agents, without reason and names: it learns that something is stopped, and the reason is for people. The
-- cross-tenant role reads the same columns to leave stopped work out.
ALTER TABLE kill_switches_killswitch ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY kill_switches_killswitch_tenant ON kill_switches_killswitch
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY kill_switches_killswitch_agent ON kill_switches_killswitch AS RESTRICTIVE TO @agent@
    USING (agent_id IS NULL OR agent_id = app_agent())
    WITH CHECK (agent_id IS NULL OR agent_id = app_agent());
CREATE POLICY kill_switches_killswitch_cross_tenant ON kill_switches_killswitch TO @cross_tenant@ USING (true) WITH CHECK (true);
GRANT SELECT ON kill_switches_killswitch TO @operator@, @worker@, @staff@;
GRANT SELECT (id, kind, channel, status, agent_id, tenant_id) ON kill_switches_killswitch TO @agent@, @cross_tenant@;
