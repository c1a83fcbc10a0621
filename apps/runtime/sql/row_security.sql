-- Row security of the tables of runtime: which rows each database role reaches, and what it may do with them.
-- What the acting roles may write of governed tables is not here: `sync_policy` derives it from the policy.

-- runtime_periodictask: The runs of scheduled jobs belong to no tenant. The login role records and reads them, before a tenant is
-- known.
GRANT SELECT, INSERT, UPDATE ON runtime_periodictask TO @login@;

-- runtime_circuitbreaker: Circuit breakers belong to no tenant, since tenants share the endpoints of the installation. Only workers
-- use them. The cross-tenant role counts their states for the metrics.
GRANT SELECT, INSERT, UPDATE ON runtime_circuitbreaker TO @worker@;
GRANT SELECT (state) ON runtime_circuitbreaker TO @cross_tenant@;

-- runtime_modelcall: A model call is visible with its turn. Workers write it. They update one only to forget words off the
-- record, and a trigger refuses everything else.
ALTER TABLE runtime_modelcall ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY runtime_modelcall_tenant ON runtime_modelcall
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY runtime_modelcall_agent ON runtime_modelcall AS RESTRICTIVE TO @agent@
    USING (EXISTS (SELECT 1 FROM runtime_turn AS turn WHERE turn.id = turn_id))
    WITH CHECK (EXISTS (SELECT 1 FROM runtime_turn AS turn WHERE turn.id = turn_id));
CREATE POLICY runtime_modelcall_talk ON runtime_modelcall AS RESTRICTIVE TO @operator@, @staff@
    USING (EXISTS (SELECT 1 FROM runtime_turn AS thread WHERE thread.id = runtime_modelcall.turn_id));
GRANT SELECT ON runtime_modelcall TO @operator@, @agent@, @staff@;
GRANT SELECT, INSERT, UPDATE (user_turn, assistant_message, text) ON runtime_modelcall TO @worker@;

-- runtime_session: A session is visible with its conversation, and workers create it. OFFSET 0 makes PostgreSQL fetch each
-- conversation by its key. Without it the planner first reads every conversation the member may see, though a list shows
-- fifty sessions.
ALTER TABLE runtime_session ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY runtime_session_tenant ON runtime_session
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY runtime_session_agent ON runtime_session AS RESTRICTIVE TO @agent@
    USING (EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.id = conversation_id))
    WITH CHECK (EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.id = conversation_id));
CREATE POLICY runtime_session_talk ON runtime_session AS RESTRICTIVE TO @operator@, @staff@
    USING ((EXISTS ( SELECT 1 FROM conversations_conversation thread WHERE thread.id = runtime_session.conversation_id OFFSET 0)));
GRANT SELECT ON runtime_session TO @operator@, @agent@, @staff@;
GRANT SELECT, INSERT ON runtime_session TO @worker@;

-- runtime_sessionpart: The parts of a session are visible with the session, and workers create them. The cross-tenant role
-- reads them for find_sessions_with_parts.
ALTER TABLE runtime_sessionpart ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY runtime_sessionpart_tenant ON runtime_sessionpart
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY runtime_sessionpart_agent ON runtime_sessionpart AS RESTRICTIVE TO @agent@
    USING (EXISTS (SELECT 1 FROM runtime_session AS session WHERE session.id = session_id))
    WITH CHECK (EXISTS (SELECT 1 FROM runtime_session AS session WHERE session.id = session_id));
CREATE POLICY runtime_sessionpart_cross_tenant ON runtime_sessionpart TO @cross_tenant@ USING (true) WITH CHECK (true);
CREATE POLICY runtime_sessionpart_talk ON runtime_sessionpart AS RESTRICTIVE TO @operator@, @staff@
    USING (EXISTS (SELECT 1 FROM runtime_session AS thread WHERE thread.id = runtime_sessionpart.session_id));
GRANT SELECT ON runtime_sessionpart TO @operator@, @agent@, @staff@;
GRANT SELECT, INSERT ON runtime_sessionpart TO @worker@;
GRANT SELECT (session_id, tenant_id, part_id) ON runtime_sessionpart TO @cross_tenant@;

-- runtime_snapshotpart: An agent sees the prompt parts of sessions it sees. Members and support staff see all parts of the
-- tenant, and a part does not name its sessions. Workers create them. The cross-tenant role reads them for find_parts_with_record.
ALTER TABLE runtime_snapshotpart ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY runtime_snapshotpart_tenant ON runtime_snapshotpart
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY runtime_snapshotpart_agent ON runtime_snapshotpart AS RESTRICTIVE TO @agent@
    USING (EXISTS (SELECT 1 FROM runtime_sessionpart AS used WHERE used.part_id = runtime_snapshotpart.id))
    WITH CHECK (EXISTS (SELECT 1 FROM runtime_sessionpart AS used WHERE used.part_id = runtime_snapshotpart.id));
CREATE POLICY runtime_snapshotpart_cross_tenant ON runtime_snapshotpart TO @cross_tenant@ USING (true) WITH CHECK (true);
GRANT SELECT ON runtime_snapshotpart TO @operator@, @agent@, @staff@;
GRANT SELECT, INSERT ON runtime_snapshotpart TO @worker@;
GRANT SELECT (id, tenant_id, segments) ON runtime_snapshotpart TO @cross_tenant@;

-- runtime_spend: Workers count the spend of each agent and day, members and support staff read it, agents have no access.
-- The cross-tenant role adds it up for the metrics and for the limit on learning.
ALTER TABLE runtime_spend ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY runtime_spend_tenant ON runtime_spend USING (tenant_id = app_tenant()) WITH CHECK (tenant_id = app_tenant());
CREATE POLICY runtime_spend_cross_tenant ON runtime_spend TO @cross_tenant@ USING (true) WITH CHECK (true);
GRANT SELECT ON runtime_spend TO @operator@, @staff@;
GRANT SELECT, INSERT, UPDATE ON runtime_spend TO @worker@;
GRANT SELECT (day, calls, cost_micro_usd, input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens,
    cache_write_1h_tokens, tenant_id, learning_calls, learning_cost_micro_usd, learning_input_tokens,
    learning_output_tokens) ON runtime_spend TO @cross_tenant@;

-- runtime_toolstep: A tool step is visible with its turn. Workers create it and record the result.
ALTER TABLE runtime_toolstep ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY runtime_toolstep_tenant ON runtime_toolstep
    USING (tenant_id = app_tenant())
    WITH CHECK (tenant_id = app_tenant());
CREATE POLICY runtime_toolstep_agent ON runtime_toolstep AS RESTRICTIVE TO @agent@
    USING (EXISTS (SELECT 1 FROM runtime_turn AS turn WHERE turn.id = turn_id))
    WITH CHECK (EXISTS (SELECT 1 FROM runtime_turn AS turn WHERE turn.id = turn_id));
CREATE POLICY runtime_toolstep_talk ON runtime_toolstep AS RESTRICTIVE TO @operator@, @staff@
    USING (EXISTS (SELECT 1 FROM runtime_turn AS thread WHERE thread.id = runtime_toolstep.turn_id));
GRANT SELECT ON runtime_toolstep TO @operator@, @agent@, @staff@;
GRANT SELECT, INSERT, UPDATE (arguments, state, result, is_error, finished_at) ON runtime_toolstep TO @worker@;

-- runtime_turn: A turn is visible with its conversation, and workers write it. The cross-tenant role reads the columns that
-- the search for due work needs.
ALTER TABLE runtime_turn ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY runtime_turn_tenant ON runtime_turn USING (tenant_id = app_tenant()) WITH CHECK (tenant_id = app_tenant());
CREATE POLICY runtime_turn_agent ON runtime_turn AS RESTRICTIVE TO @agent@
    USING (EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.id = conversation_id))
    WITH CHECK (EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.id = conversation_id));
CREATE POLICY runtime_turn_cross_tenant ON runtime_turn TO @cross_tenant@ USING (true) WITH CHECK (true);
CREATE POLICY runtime_turn_talk ON runtime_turn AS RESTRICTIVE TO @operator@, @staff@
    USING (EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.id = runtime_turn.conversation_id));
GRANT SELECT ON runtime_turn TO @operator@, @agent@, @staff@;
GRANT SELECT, INSERT, UPDATE ON runtime_turn TO @worker@;
GRANT SELECT (id, status, lease_until, finished_at, conversation_id, tenant_id, deadline_at, run_at, is_released, failure_code) ON
    runtime_turn TO @cross_tenant@;
