-- Row security of the tables of governance: which rows each database role reaches, and what it may do with them.
-- What the acting roles may write of governed tables is not here: `sync_policy` derives it from the policy.

-- governance_approval: Rows of the tenant; agents see none. Operators add approvals.
ALTER TABLE governance_approval ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY governance_approval_tenant ON governance_approval
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
GRANT SELECT, INSERT ON governance_approval TO @operator@;
GRANT SELECT ON governance_approval TO @worker@, @staff@;

-- governance_auditcheck: Rows of the tenant; agents see none. Workers add the result of each verification of the hash chain.
ALTER TABLE governance_auditcheck ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY governance_auditcheck_tenant ON governance_auditcheck
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
GRANT SELECT ON governance_auditcheck TO @operator@, @staff@;
GRANT SELECT, INSERT ON governance_auditcheck TO @worker@;

-- governance_auditlink: Operators, workers and support staff read the tenant's links; agents see none. Only the cross-tenant
-- role inserts them, through the commit trigger, so no acting role can forge a link.
ALTER TABLE governance_auditlink ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY governance_auditlink_tenant ON governance_auditlink
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY governance_auditlink_cross_tenant ON governance_auditlink TO @cross_tenant@ USING (true) WITH CHECK (true);
GRANT SELECT ON governance_auditlink TO @operator@, @worker@, @staff@;
GRANT SELECT, INSERT ON governance_auditlink TO @cross_tenant@;
GRANT USAGE ON SEQUENCE governance_auditlink_id_seq TO @cross_tenant@;

-- governance_changerecord: Every acting role appends records of its tenant. An agent appends only records in its own name
-- and reads only their ids, because its INSERT returns the id. The cross-tenant role reads the columns that the search by
-- evidence and by words needs.
ALTER TABLE governance_changerecord ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY governance_changerecord_tenant ON governance_changerecord
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY governance_changerecord_agent ON governance_changerecord AS RESTRICTIVE TO @agent@
    USING (agent_id = app_agent())
    WITH CHECK ((agent_id = app_agent()) AND (actor_role = 'agent'));
CREATE POLICY governance_changerecord_cross_tenant ON governance_changerecord FOR SELECT TO @cross_tenant@ USING (true);
GRANT SELECT, INSERT ON governance_changerecord TO @operator@, @worker@, @staff@;
GRANT SELECT (id), INSERT ON governance_changerecord TO @agent@;
GRANT SELECT (id, subject_type, version_before, evidence, created_at, tenant_id) ON governance_changerecord TO @cross_tenant@;

-- governance_changetext: The values before and after each change. Every acting role appends them; an agent reads only the
-- ids. The cross-tenant role reads them for full-text search.
ALTER TABLE governance_changetext ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY governance_changetext_tenant ON governance_changetext
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY governance_changetext_cross_tenant ON governance_changetext FOR SELECT TO @cross_tenant@ USING (true);
GRANT SELECT, INSERT ON governance_changetext TO @operator@, @worker@, @staff@;
GRANT SELECT (id), INSERT ON governance_changetext TO @agent@;
GRANT SELECT (before, after, reason, record_id, tenant_id) ON governance_changetext TO @cross_tenant@;

-- governance_proposal: An agent sees the proposals about itself and those that belong to several agents: about customer
-- profiles it sees, about the tenant's settings and about rules for all agents. Of the last two it sees only proposals by
-- agents. An agent inserts proposals only for itself, changes only open ones, deletes only its own open ones without
-- approvals, and never marks the source as an operator. Operators also delete only open proposals without approvals. The
-- cross-tenant role reads the columns that due work and full-text search need.
ALTER TABLE governance_proposal ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY governance_proposal_tenant ON governance_proposal
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY governance_proposal_agent ON governance_proposal AS RESTRICTIVE TO @agent@
    USING (CASE target_type
        WHEN 'memory.customerprofile'
            THEN EXISTS (SELECT 1 FROM memory_customerprofile AS profile WHERE profile.id = target_id)
        WHEN 'tenants.tenantsettings' THEN agent_id IS NOT NULL
        WHEN 'personas.standingrule' THEN agent_id = app_agent() OR agent_id IS NOT NULL
            AND EXISTS (SELECT 1 FROM personas_standingrule AS rule WHERE rule.id = target_id AND rule.agent_id IS NULL)
        ELSE agent_id = app_agent()
    END) WITH CHECK (CASE target_type
        WHEN 'memory.customerprofile'
            THEN EXISTS (SELECT 1 FROM memory_customerprofile AS profile WHERE profile.id = target_id)
        WHEN 'tenants.tenantsettings' THEN agent_id IS NOT NULL
        WHEN 'personas.standingrule' THEN agent_id = app_agent() OR agent_id IS NOT NULL
            AND EXISTS (SELECT 1 FROM personas_standingrule AS rule WHERE rule.id = target_id AND rule.agent_id IS NULL)
        ELSE agent_id = app_agent()
    END AND taint <> 'operator');
CREATE POLICY governance_proposal_agent_delete ON governance_proposal AS RESTRICTIVE FOR DELETE TO @agent@
    USING (state = 'open' AND agent_id = app_agent() AND approval_count = 0);
CREATE POLICY governance_proposal_agent_insert ON governance_proposal AS RESTRICTIVE FOR INSERT TO @agent@
    WITH CHECK (agent_id = app_agent());
CREATE POLICY governance_proposal_agent_update ON governance_proposal AS RESTRICTIVE FOR UPDATE TO @agent@
    USING (state = 'open');
CREATE POLICY governance_proposal_cross_tenant ON governance_proposal FOR SELECT TO @cross_tenant@ USING (true);
CREATE POLICY governance_proposal_operator_delete ON governance_proposal AS RESTRICTIVE FOR DELETE TO @operator@
    USING (state = 'open' AND approval_count = 0);
GRANT SELECT ON governance_proposal TO @operator@, @worker@, @agent@, @staff@;
GRANT SELECT (id, created_at, target_label, content, rationale, state, decided_at, agent_id, tenant_id, edited_content,
    expires_at, snoozed_until) ON governance_proposal TO @cross_tenant@;

-- governance_refusal: Refused attempts of the tenant. Every acting role appends them; an agent appends only its own and
-- reads none.
ALTER TABLE governance_refusal ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY governance_refusal_tenant ON governance_refusal
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY governance_refusal_agent ON governance_refusal AS RESTRICTIVE TO @agent@
    USING (agent_id IS NOT DISTINCT FROM app_agent())
    WITH CHECK ((agent_id IS NOT DISTINCT FROM app_agent()) AND (actor_role = 'agent'));
GRANT SELECT, INSERT ON governance_refusal TO @operator@, @worker@, @staff@;
GRANT INSERT ON governance_refusal TO @agent@;
