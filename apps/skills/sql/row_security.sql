-- Row security of the tables of skills: which rows each database role reaches, and what it may do with them.
-- What the acting roles may write of governed tables is not here: `sync_policy` derives it from the policy.

-- skills_skill: An agent sees its own skills, except those in quarantine. It changes and deletes only drafts that an agent
-- wrote, and never marks the source as an operator. Operators delete drafts only. The cross-tenant role reads the texts for
-- full-text search.
ALTER TABLE skills_skill ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY skills_skill_tenant ON skills_skill USING (tenant_id = app_tenant()) WITH CHECK (tenant_id = app_tenant());
CREATE POLICY skills_skill_agent ON skills_skill AS RESTRICTIVE TO @agent@
    USING (agent_id = app_agent())
    WITH CHECK ((agent_id = app_agent()) AND (taint <> 'operator'));
CREATE POLICY skills_skill_agent_delete ON skills_skill AS RESTRICTIVE FOR DELETE TO @agent@
    USING (status = 'draft' AND starts_with(drafted_by, 'agent:'));
CREATE POLICY skills_skill_agent_update ON skills_skill AS RESTRICTIVE FOR UPDATE TO @agent@
    USING (status = 'draft' AND starts_with(drafted_by, 'agent:'));
CREATE POLICY skills_skill_cross_tenant ON skills_skill FOR SELECT TO @cross_tenant@ USING (true);
CREATE POLICY skills_skill_operator_delete ON skills_skill AS RESTRICTIVE FOR DELETE TO @operator@ USING (status = 'draft');
CREATE POLICY skills_skill_quarantine ON skills_skill AS RESTRICTIVE TO @agent@ USING (quarantined_at IS NULL);
GRANT SELECT ON skills_skill TO @operator@, @worker@, @agent@, @staff@;
GRANT SELECT (id, updated_at, name, title, description, body, tenant_id) ON skills_skill TO @cross_tenant@;

-- skills_skilluse: How often each skill was used. Workers and agents count the uses; an agent reaches only the counts of
-- skills it sees.
ALTER TABLE skills_skilluse ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY skills_skilluse_tenant ON skills_skilluse
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY skills_skilluse_agent ON skills_skilluse AS RESTRICTIVE TO @agent@
    USING (EXISTS (SELECT 1 FROM skills_skill AS skill WHERE skill.id = skill_id))
    WITH CHECK (EXISTS (SELECT 1 FROM skills_skill AS skill WHERE skill.id = skill_id));
GRANT SELECT ON skills_skilluse TO @operator@, @staff@;
GRANT SELECT, INSERT, UPDATE (use_count, last_used_at) ON skills_skilluse TO @worker@, @agent@;
