-- Functions of learning: what triggers, policies, indexes and the product's own statements call.

-- Returns the agents with lessons that a digest has not read and that have two cases or enough confidence
-- (PROMOTABLE_SUPPORT and PROMOTABLE_CONFIDENCE in Python). Agents with a version pending review, frozen learning, a lease
-- of another worker or a later retry time are left out.
CREATE OR REPLACE FUNCTION due_of_digest()
    RETURNS TABLE(tenant_id bigint, row_id bigint, since timestamp with time zone)
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT lesson.tenant_id, lesson.agent_id, min(lesson.noted_at) FROM lessons_lesson AS lesson
        JOIN tenants_agent AS agent ON agent.tenant_id = lesson.tenant_id AND agent.id = lesson.agent_id AND agent.learns
        LEFT JOIN learning_digestclaim AS held ON held.tenant_id = lesson.tenant_id AND held.agent_id = lesson.agent_id
        WHERE lesson.digested_in_id IS NULL AND (lesson.support_count >= 2 OR lesson.confidence >= 0.4)
            AND lesson.noted_at > coalesce(held.read_at, '-infinity')
            AND coalesce(greatest(held.lease_until, held.next_look_at) <= statement_timestamp(), true)
            AND NOT EXISTS (SELECT 1 FROM lessons_learningversion AS version WHERE version.tenant_id = lesson.tenant_id
                AND version.agent_id = lesson.agent_id AND version.status = 'pending')
            AND NOT EXISTS (SELECT 1 FROM switches_switch AS switch WHERE switch.tenant_id = lesson.tenant_id
                AND switch.status = 'on' AND switch.kind = 'freeze-learning' AND switch.channel = ''
                AND (switch.agent_id IS NULL OR switch.agent_id = lesson.agent_id))
        GROUP BY lesson.tenant_id, lesson.agent_id
$$;
REVOKE ALL ON FUNCTION due_of_digest() FROM PUBLIC;
ALTER FUNCTION due_of_digest() OWNER TO @crossing@;

-- Returns the agents with a memory tier that is due for distillation. An agent without a clock row is due as well, because
-- the first run creates the rows. A run that a person requested does not need distillation to be on.
CREATE OR REPLACE FUNCTION due_of_distillation()
    RETURNS TABLE(tenant_id bigint, row_id bigint, since timestamp with time zone)
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT agent.tenant_id, agent.id, min(coalesce(clock.next_run_at, agent.updated_at)) FROM tenants_agent AS agent
        LEFT JOIN learning_tierclock AS clock ON clock.tenant_id = agent.tenant_id AND clock.agent_id = agent.id
        WHERE agent.learns AND (agent.distils AND clock.id IS NULL OR (agent.distils OR clock.asked_by <> '')
            AND clock.next_run_at <= statement_timestamp() AND clock.lease_until <= statement_timestamp())
        GROUP BY agent.tenant_id, agent.id
$$;
REVOKE ALL ON FUNCTION due_of_distillation() FROM PUBLIC;
ALTER FUNCTION due_of_distillation() OWNER TO @crossing@;

-- Returns the resolved live conversations without a learning result. Conversations under a lease, with a later retry time or
-- with frozen learning are left out. Imported conversations are processed by a command instead.
CREATE OR REPLACE FUNCTION due_of_extraction()
    RETURNS TABLE(tenant_id bigint, row_id bigint, since timestamp with time zone)
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT thread.tenant_id, thread.id, thread.resolved_at FROM conversations_conversation AS thread
        WHERE thread.status = 'resolved' AND thread.origin = 'live' AND NOT EXISTS (
            SELECT 1 FROM learning_extraction AS extraction WHERE extraction.conversation_id = thread.id)
        -- Nobody looks at it just now, and after a failure its next look is due.
        AND NOT EXISTS (SELECT 1 FROM learning_extractionclaim AS held WHERE held.tenant_id = thread.tenant_id
            AND held.conversation_id = thread.id AND greatest(held.lease_until, held.next_look_at) > statement_timestamp())
        AND NOT is_switched_off(ARRAY['freeze-learning'], thread.tenant_id, thread.id)
$$;
REVOKE ALL ON FUNCTION due_of_extraction() FROM PUBLIC;
ALTER FUNCTION due_of_extraction() OWNER TO @crossing@;

-- Returns the agents with a finished day and no settled daily review of it. A day ends at 23:00 by the tenant's clock, and a
-- missed review stays due until the next day ends. Agents with frozen learning are left out.
CREATE OR REPLACE FUNCTION due_of_reflection()
    RETURNS TABLE(tenant_id bigint, row_id bigint, since timestamp with time zone)
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT agent.tenant_id, agent.id, (today.day + time '23:00') AT TIME ZONE today.zone FROM (
        SELECT settings.tenant_id, settings.timezone AS zone,
               (statement_timestamp() AT TIME ZONE settings.timezone - interval '23 hours')::date AS day
            FROM tenants_tenantsettings AS settings
    ) AS today JOIN tenants_agent AS agent ON agent.tenant_id = today.tenant_id
        WHERE agent.learns AND agent.reflects AND NOT EXISTS (
            SELECT 1 FROM learning_reflection AS known WHERE known.tenant_id = agent.tenant_id
                AND known.agent_id = agent.id AND known.day = today.day AND (
                    known.verdict <> 'waiting' OR greatest(known.lease_until, known.next_look_at) > statement_timestamp()))
        AND NOT EXISTS (
            SELECT 1 FROM switches_switch AS switch WHERE switch.tenant_id = agent.tenant_id AND switch.status = 'on'
                AND switch.kind = 'freeze-learning' AND (switch.agent_id IS NULL OR switch.agent_id = agent.id)
                AND switch.channel = '')
$$;
REVOKE ALL ON FUNCTION due_of_reflection() FROM PUBLIC;
ALTER FUNCTION due_of_reflection() OWNER TO @crossing@;

-- Returns true if four fifths of the tenant's budget for the day are spent: the rest is kept for replies to customers.
-- due_work calls it for all tenants, and a worker calls it for its own tenant before each model call of learning. It runs
-- with the rights of the caller.
CREATE OR REPLACE FUNCTION learning_waits(of_tenant bigint) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT EXISTS (
        SELECT 1 FROM tenants_tenantsettings AS settings WHERE settings.tenant_id = of_tenant
            AND settings.day_budget_micro_usd IS NOT NULL AND settings.day_budget_micro_usd * 4 / 5 <= (
                SELECT coalesce(sum(spend.cost_micro_usd + spend.learning_cost_micro_usd), 0) FROM runtime_spend AS spend
                    WHERE spend.tenant_id = of_tenant AND spend.day = tenant_day(of_tenant)))
$$;
REVOKE ALL ON FUNCTION learning_waits(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION learning_waits(bigint) TO @crossing@, @worker@;
