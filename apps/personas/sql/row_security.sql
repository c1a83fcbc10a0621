-- Row security of the tables of personas: which rows each database role reaches, and what it may do with them.
-- What the acting roles may write of governed tables is not here: `sync_policy` derives it from the policy.

-- personas_identitycard: An agent sees its own cards and writes none; operators write. The cross-tenant role reads which
-- agent a line belongs to.
ALTER TABLE personas_identitycard ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY personas_identitycard_tenant ON personas_identitycard
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY personas_identitycard_agent ON personas_identitycard AS RESTRICTIVE TO @agent@
    USING (agent_id = app_agent())
    WITH CHECK (agent_id = app_agent());
CREATE POLICY personas_identitycard_cross_tenant ON personas_identitycard FOR SELECT TO @cross_tenant@ USING (true);
GRANT SELECT ON personas_identitycard TO @operator@, @worker@, @agent@, @staff@;
GRANT SELECT (line_key, agent_id, tenant_id) ON personas_identitycard TO @cross_tenant@;

-- personas_memberoverlay: A member's overlay belongs to that member: operators and support staff reach only their own, and
-- an agent reaches it only in a conversation with that member. Workers read all of the tenant, because they build the
-- prompts.
ALTER TABLE personas_memberoverlay ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY personas_memberoverlay_tenant ON personas_memberoverlay
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY personas_memberoverlay_agent ON personas_memberoverlay AS RESTRICTIVE TO @agent@
    USING (agent_id = app_agent() AND member_user_id = app_member())
    WITH CHECK (agent_id = app_agent() AND member_user_id = app_member());
CREATE POLICY personas_memberoverlay_own ON personas_memberoverlay AS RESTRICTIVE TO @operator@, @staff@
    USING (member_user_id = app_member());
GRANT SELECT ON personas_memberoverlay TO @operator@, @worker@, @agent@, @staff@;

-- personas_persona: An agent sees its own persona and writes none.
ALTER TABLE personas_persona ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY personas_persona_tenant ON personas_persona
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY personas_persona_agent ON personas_persona AS RESTRICTIVE TO @agent@
    USING (agent_id = app_agent())
    WITH CHECK (agent_id = app_agent());
GRANT SELECT ON personas_persona TO @operator@, @worker@, @agent@, @staff@;

-- personas_personaoverlay: An agent sees its own overlay and writes none; operators write.
ALTER TABLE personas_personaoverlay ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY personas_personaoverlay_tenant ON personas_personaoverlay
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY personas_personaoverlay_agent ON personas_personaoverlay AS RESTRICTIVE TO @agent@
    USING (agent_id = app_agent())
    WITH CHECK (agent_id = app_agent());
GRANT SELECT ON personas_personaoverlay TO @operator@, @worker@, @agent@, @staff@;

-- personas_standingrule: An agent sees its own rules and those for all agents, and writes none; operators write.
ALTER TABLE personas_standingrule ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY personas_standingrule_tenant ON personas_standingrule
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY personas_standingrule_agent ON personas_standingrule AS RESTRICTIVE TO @agent@
    USING (agent_id IS NULL OR agent_id = app_agent())
    WITH CHECK (agent_id IS NULL OR agent_id = app_agent());
GRANT SELECT ON personas_standingrule TO @operator@, @worker@, @agent@, @staff@;
