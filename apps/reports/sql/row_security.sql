-- Row security of the tables of reports: which rows each database role reaches, and what it may do with them.
-- What the acting roles may write of governed tables is not here: `sync_policy` derives it from the policy.

-- reports_report: Rows of the tenant. Workers read settled reports to learn from them, agents have no access. The cross-
-- tenant role reads decisions, for the search for lessons.
ALTER TABLE reports_report ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY reports_report_tenant ON reports_report USING (tenant_id = app_tenant()) WITH CHECK (tenant_id = app_tenant());
CREATE POLICY reports_report_crossing ON reports_report TO @crossing@ USING (true) WITH CHECK (true);
GRANT SELECT ON reports_report TO @operator@, @worker@, @staff@;
GRANT SELECT (id, status, decided_at, agent_id, conversation_id, tenant_id) ON reports_report TO @crossing@;
