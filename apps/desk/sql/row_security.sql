-- Row security of the tables of desk: which rows each database role reaches, and what it may do with them.
-- What the acting roles may write of governed tables is not here: `sync_policy` derives it from the policy.

-- desk_draft: Members, workers and support staff see the drafts of the tenant, an agent its own drafts in conversations it
-- sees. The cross-tenant role reads decisions, for lessons and metrics.
ALTER TABLE desk_draft ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY desk_draft_tenant ON desk_draft USING (tenant_id = app_tenant()) WITH CHECK (tenant_id = app_tenant());
CREATE POLICY desk_draft_agent ON desk_draft AS RESTRICTIVE TO @agent@
    USING (agent_id = app_agent() AND EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.id = conversation_id))
    WITH CHECK (agent_id = app_agent() AND EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.id = conversation_id));
CREATE POLICY desk_draft_cross_tenant ON desk_draft TO @cross_tenant@ USING (true) WITH CHECK (true);
GRANT SELECT ON desk_draft TO @operator@, @worker@, @agent@, @staff@;
GRANT SELECT (id, status, decided_at, agent_id, conversation_id, tenant_id) ON desk_draft TO @cross_tenant@;

-- desk_escalation: Members, workers and support staff see the escalations of the tenant, an agent its own in conversations
-- it sees. An agent opens one under its own name, undecided and with the customer as source, because it may repeat the
-- customer's words. It changes one only while it is open. The cross-tenant role reads decisions, for lessons and metrics.
ALTER TABLE desk_escalation ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY desk_escalation_tenant ON desk_escalation
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY desk_escalation_agent ON desk_escalation AS RESTRICTIVE TO @agent@
    USING (agent_id = app_agent() AND EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.id = conversation_id))
    WITH CHECK (agent_id = app_agent() AND EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.id = conversation_id));
CREATE POLICY desk_escalation_agent_insert ON desk_escalation AS RESTRICTIVE FOR INSERT TO @agent@
    WITH CHECK (opened_by LIKE 'agent:%' AND taint = 'customer'
        AND decided_by = '' AND answer = '' AND dismissal_reason = '');
CREATE POLICY desk_escalation_agent_update ON desk_escalation AS RESTRICTIVE FOR UPDATE TO @agent@ USING (status = 'open');
CREATE POLICY desk_escalation_cross_tenant ON desk_escalation TO @cross_tenant@ USING (true) WITH CHECK (true);
GRANT SELECT ON desk_escalation TO @operator@, @worker@, @agent@, @staff@;
GRANT SELECT (id, status, decided_at, agent_id, conversation_id, tenant_id) ON desk_escalation TO @cross_tenant@;

-- desk_report: Rows of the tenant. Workers read settled reports to learn from them, agents have no access. The cross-
-- tenant role reads decisions, for the search for lessons.
ALTER TABLE desk_report ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY desk_report_tenant ON desk_report USING (tenant_id = app_tenant()) WITH CHECK (tenant_id = app_tenant());
CREATE POLICY desk_report_cross_tenant ON desk_report TO @cross_tenant@ USING (true) WITH CHECK (true);
GRANT SELECT ON desk_report TO @operator@, @worker@, @staff@;
GRANT SELECT (id, status, decided_at, agent_id, conversation_id, tenant_id) ON desk_report TO @cross_tenant@;

-- desk_sendrule: Rows of the tenant. Workers read the rules before they send a reply, agents have no access.
ALTER TABLE desk_sendrule ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY desk_sendrule_tenant ON desk_sendrule USING (tenant_id = app_tenant()) WITH CHECK (tenant_id = app_tenant());
GRANT SELECT ON desk_sendrule TO @operator@, @worker@, @staff@;
