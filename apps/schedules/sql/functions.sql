-- Functions of schedules: what triggers, policies, indexes and the product's own statements call.

-- Approved schedules with a run that is due, unless a kill switch pauses the agent on that channel. Only the due-work
-- functions of runtime call it; they run as the cross-tenant role, its owner, and see every tenant.
CREATE OR REPLACE FUNCTION list_due_schedule_runs()
    RETURNS TABLE(tenant_id bigint, row_id bigint, due_at timestamp with time zone)
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT clock.tenant_id, clock.schedule_id, clock.next_run_at FROM schedules_scheduleclock AS clock
        JOIN schedules_schedule AS plan ON plan.tenant_id = clock.tenant_id AND plan.id = clock.schedule_id
        WHERE plan.status = 'approved' AND clock.next_run_at <= statement_timestamp() AND NOT EXISTS (
            SELECT 1 FROM kill_switches_killswitch AS switch WHERE switch.tenant_id = plan.tenant_id AND switch.status = 'on'
                AND switch.kind = 'pause-agent' AND (switch.agent_id IS NULL OR switch.agent_id = plan.agent_id)
                AND switch.channel IN ('', plan.channel))
$$;
REVOKE ALL ON FUNCTION list_due_schedule_runs() FROM PUBLIC;
ALTER FUNCTION list_due_schedule_runs() OWNER TO @cross_tenant@;
