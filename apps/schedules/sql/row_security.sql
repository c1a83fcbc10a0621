-- Row security of the tables of schedules: which rows each database role reaches, and what it may do with them.
-- What the acting roles may write of governed tables is not here: `sync_policy` derives it from the policy.

-- schedules_schedule: An agent sees its own schedules. It inserts only drafts in an agent's name, without an approval and
-- without an operator as source; its only update deprecates such a draft. Operators decide. The cross-tenant role reads the
-- columns that due work needs.
ALTER TABLE schedules_schedule ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY schedules_schedule_tenant ON schedules_schedule
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY schedules_schedule_agent ON schedules_schedule AS RESTRICTIVE TO @agent@
    USING (agent_id = app_agent())
    WITH CHECK (agent_id = app_agent() AND (status::text = ANY (ARRAY['draft'::character varying, 'deprecated'::character varying]::text[])) AND approved_by::text = ''::text AND drafted_by::text ~~ 'agent:%'::text AND taint::text <> 'operator'::text);
CREATE POLICY schedules_schedule_agent_update ON schedules_schedule AS RESTRICTIVE FOR UPDATE TO @agent@
    USING (status = 'draft' AND starts_with(drafted_by, 'agent:'))
    WITH CHECK (status = 'deprecated');
CREATE POLICY schedules_schedule_cross_tenant ON schedules_schedule TO @cross_tenant@ USING (true) WITH CHECK (true);
GRANT SELECT ON schedules_schedule TO @operator@, @worker@, @agent@, @staff@;
GRANT SELECT (id, channel, status, agent_id, tenant_id) ON schedules_schedule TO @cross_tenant@;

-- schedules_scheduleclock: The next run of each schedule. Operators set it, workers advance it, and an agent only reads it
-- for the schedules it sees. The cross-tenant role reads it for due work.
ALTER TABLE schedules_scheduleclock ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY schedules_scheduleclock_tenant ON schedules_scheduleclock
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY schedules_scheduleclock_agent ON schedules_scheduleclock AS RESTRICTIVE TO @agent@
    USING (EXISTS (SELECT 1 FROM schedules_schedule AS plan WHERE plan.id = schedule_id))
    WITH CHECK (EXISTS (SELECT 1 FROM schedules_schedule AS plan WHERE plan.id = schedule_id));
CREATE POLICY schedules_scheduleclock_cross_tenant ON schedules_scheduleclock TO @cross_tenant@ USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE (next_run_at) ON schedules_scheduleclock TO @operator@;
GRANT SELECT, UPDATE (next_run_at) ON schedules_scheduleclock TO @worker@;
GRANT SELECT ON schedules_scheduleclock TO @agent@, @staff@;
GRANT SELECT (next_run_at, schedule_id, tenant_id) ON schedules_scheduleclock TO @cross_tenant@;

-- schedules_schedulerun: The runs of schedules: workers add them, an agent sees its own.
ALTER TABLE schedules_schedulerun ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY schedules_schedulerun_tenant ON schedules_schedulerun
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY schedules_schedulerun_agent ON schedules_schedulerun AS RESTRICTIVE TO @agent@
    USING (agent_id = app_agent())
    WITH CHECK (agent_id = app_agent());
GRANT SELECT ON schedules_schedulerun TO @operator@, @agent@, @staff@;
GRANT SELECT, INSERT ON schedules_schedulerun TO @worker@;
