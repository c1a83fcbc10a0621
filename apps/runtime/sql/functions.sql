-- Functions of runtime: what triggers, policies, indexes and the product's own statements call.

-- Returns the conversations in which a paused agent owes another agent an answer, and the asking agent has neither an answer
-- nor a notice of the pause. The sweep for questions then sends one notice per conversation and kill switch: of several
-- switches the oldest counts. The idempotency keys must match those that the Python code for agent handoffs writes.
CREATE OR REPLACE FUNCTION list_due_paused_delegations()
    RETURNS TABLE(tenant_id bigint, row_id bigint, due_at timestamp with time zone)
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT paused.tenant_id, paused.id, statement_timestamp() FROM (
        SELECT child.tenant_id, child.id, child.parent_id, min(switch.id) AS switch_id FROM kill_switches_killswitch AS switch
            JOIN conversations_conversation AS child ON child.tenant_id = switch.tenant_id
                AND (switch.agent_id IS NULL OR switch.agent_id = child.agent_id) AND switch.channel IN ('', 'agent')
            WHERE switch.status = 'on' AND switch.kind = 'pause-agent'
                AND child.parent_id IS NOT NULL AND child.status = 'open' AND child.taken_over_at IS NULL
            GROUP BY child.tenant_id, child.id) AS paused
        JOIN conversations_conversation AS above ON above.tenant_id = paused.tenant_id AND above.id = paused.parent_id
        WHERE above.status = 'open' AND NOT is_kill_switch_on(ARRAY['pause-agent'], above.tenant_id, above.id)
            AND NOT EXISTS (SELECT 1 FROM conversations_inboundevent AS answer WHERE answer.tenant_id = above.tenant_id
                AND answer.conversation_id = above.id AND (
                    answer.kind = 'answer' AND starts_with(answer.idempotency_key, 'delegated-' || paused.id || '-')
                    OR answer.idempotency_key = 'delegated-' || paused.id || '-paused-' || paused.switch_id))
$$;
REVOKE ALL ON FUNCTION list_due_paused_delegations() FROM PUBLIC;
ALTER FUNCTION list_due_paused_delegations() OWNER TO @cross_tenant@;

-- Whether a turn that waits for the day's budget may be tried before its next attempt, because the tenant's settings were
-- changed after it was released at `released_at`. After an attempt that is delayed again, the change no longer counts.
CREATE OR REPLACE FUNCTION is_turn_woken_by_settings(
    for_tenant_id bigint, is_released boolean, failure_code text, released_at timestamp with time zone
) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT is_released AND failure_code = 'day_budget_spent' AND EXISTS (
        SELECT 1 FROM tenants_tenantsettings AS settings
            WHERE settings.tenant_id = for_tenant_id AND settings.updated_at > released_at)
$$;

-- Returns the conversations that need a worker: with events that are due and no turn under a lease, or with a running turn
-- after the end of its lease and its retry delay. Conversations of paused agents are left out, and so are new events during
-- a takeover. With an external agent a worker only ends a turn that is past its deadline or taken over, and takes events
-- after the agent had 15 minutes for them. A turn that waits for the day's budget is also due if the tenant's settings were
-- changed after it was released, so a raised budget wakes it at once.
CREATE OR REPLACE FUNCTION list_due_turns() RETURNS TABLE(tenant_id bigint, row_id bigint, due_at timestamp with time zone)
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT found.tenant_id, found.row_id, min(found.since) FROM (
        SELECT event.tenant_id, event.conversation_id AS row_id, event.due_at AS since
            FROM conversations_inboundevent AS event
            WHERE event.turn_id IS NULL AND event.due_at <= statement_timestamp() AND NOT EXISTS (
                -- What a colleague answers waits for them.
                SELECT 1 FROM conversations_conversation AS thread WHERE thread.id = event.conversation_id
                    AND thread.tenant_id = event.tenant_id AND (thread.taken_over_at IS NOT NULL
                        OR thread.has_external_agent AND event.due_at > statement_timestamp() - interval '15 minutes'))
            AND NOT EXISTS (
                SELECT 1 FROM runtime_turn AS turn WHERE turn.conversation_id = event.conversation_id
                    AND turn.tenant_id = event.tenant_id AND turn.status = 'running'
                    AND greatest(turn.lease_until, turn.run_at) > statement_timestamp())
        UNION ALL
        SELECT turn.tenant_id, turn.conversation_id, least(turn.run_at, statement_timestamp()) FROM runtime_turn AS turn
            WHERE turn.status = 'running' AND turn.lease_until <= statement_timestamp()
            AND (turn.run_at <= statement_timestamp() OR is_turn_woken_by_settings(turn.tenant_id, turn.is_released,
                turn.failure_code, turn.lease_until))
            AND NOT EXISTS (
                SELECT 1 FROM conversations_conversation AS thread WHERE thread.id = turn.conversation_id
                    AND thread.tenant_id = turn.tenant_id AND thread.has_external_agent AND thread.taken_over_at IS NULL
                    AND turn.deadline_at > statement_timestamp())
    ) AS found
    GROUP BY found.tenant_id, found.row_id
    HAVING NOT is_kill_switch_on(ARRAY['pause-agent'], found.tenant_id, found.row_id)
$$;
REVOKE ALL ON FUNCTION list_due_turns() FROM PUBLIC;
ALTER FUNCTION list_due_turns() OWNER TO @cross_tenant@;

-- Returns up to `batch_size` ids per kind of work from all tenants, read from list_due_<kind>. Sweeps and workers call it as the
-- login role, before a tenant is known: it is SECURITY DEFINER and lets only ids out. Each tenant's oldest row comes first,
-- so a backlog of one tenant delays no other, and learning is left out for tenants with little left of the day's budget. Of a
-- tenant's webhook deliveries, those of conversations come before all others.
CREATE OR REPLACE FUNCTION find_due_work(batch_size integer, kinds text[])
    RETURNS TABLE(kind text, tenant_id bigint, row_id bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DECLARE
        work_kind text;
        waits bigint[] := '{}';
    BEGIN
        IF kinds && ARRAY['extractions', 'reflections', 'digests', 'distillations'] THEN
            waits := ARRAY(SELECT settings.tenant_id FROM tenants_tenantsettings AS settings
                WHERE settings.day_budget_micro_usd IS NOT NULL AND is_learning_budget_reserved(settings.tenant_id));
        END IF;
        FOREACH work_kind IN ARRAY kinds LOOP
            RETURN QUERY EXECUTE format('
                SELECT $2, ranked.tenant_id, ranked.row_id FROM (
                    -- One tenant''s thousand must not keep another''s one waiting.
                    SELECT due.*, row_number() OVER (PARTITION BY due.tenant_id ORDER BY %sdue.due_at, due.row_id) AS rank
                        FROM %I() AS due WHERE due.tenant_id <> ALL ($3)
                ) AS ranked ORDER BY ranked.rank, ranked.due_at, ranked.row_id LIMIT $1',
                CASE WHEN work_kind = 'webhook_deliveries' THEN 'due.is_outside_conversation, ' ELSE '' END,
                'list_due_' || work_kind)
                USING batch_size, work_kind,
                    CASE WHEN work_kind IN ('extractions', 'reflections', 'digests', 'distillations') THEN waits ELSE '{}' END;
        END LOOP;
    END
$$;
REVOKE ALL ON FUNCTION find_due_work(integer,text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_due_work(integer,text[]) TO @login@;
ALTER FUNCTION find_due_work(integer,text[]) OWNER TO @cross_tenant@;

-- Trigger function on tool steps: a call starts as begun, or is written as done in the commit of its effect, and ends once.
-- An ended step never changes, except that arguments and result are emptied for a conversation off the record.
CREATE OR REPLACE FUNCTION end_tool_step_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.state NOT IN ('started', 'done') THEN
            RAISE EXCEPTION 'A new tool step is started or done, not %.', NEW.state
                USING ERRCODE = 'check_violation', CONSTRAINT = 'initial_state';
        END IF;
    ELSIF TG_OP = 'DELETE' OR OLD.state <> 'started' THEN
        IF TG_OP = 'UPDATE' THEN
            IF is_off_the_record_erasure(to_jsonb(OLD), to_jsonb(NEW), ARRAY['arguments', 'result']) THEN
                RETURN NEW;
            END IF;
        END IF;
        RAISE EXCEPTION 'A tool step that has ended cannot be changed.'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'legal_transition';
    END IF;
    RETURN NEW;
END $$;

-- Returns the metrics of the whole installation: due work and its oldest row, deliveries, notifications, turns, reviews,
-- spend and circuit breakers, by tenant. The metrics endpoint calls it as the login role. It is SECURITY DEFINER because it
-- counts across tenants, and it returns counts and ages but no row.
CREATE OR REPLACE FUNCTION list_installation_gauges()
    RETURNS TABLE(name text, label text, tenant_key text, value double precision)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    work_kind text;
BEGIN
    FOR work_kind IN SELECT substr(proc.proname, length('list_due_') + 1) FROM pg_proc AS proc
        WHERE proc.pronamespace = 'public'::regnamespace AND starts_with(proc.proname, 'list_due_') ORDER BY 1
    LOOP
        RETURN QUERY EXECUTE format('
            WITH due AS (
                SELECT coalesce(tenant.key, '''') AS key, count(*)::float8 AS rows,
                       coalesce(extract(epoch FROM now() - min(nullif(found.due_at, ''-infinity''))), 0)::float8 AS seconds
                  FROM %I() AS found LEFT JOIN tenants_tenant AS tenant ON tenant.id = found.tenant_id GROUP BY 1
            )
            SELECT ''waiting'', $1, due.key::text, due.rows FROM due
             UNION ALL SELECT ''waiting_oldest_seconds'', $1, due.key::text, greatest(due.seconds, 0) FROM due',
            'list_due_' || work_kind) USING work_kind;
    END LOOP;
    RETURN QUERY
        SELECT counted.name, counted.label, tenant.key::text, counted.value FROM (
            SELECT 'deliveries' AS name, delivery.status::text AS label, delivery.tenant_id, count(*)::float8 AS value
              FROM webhooks_delivery AS delivery WHERE delivery.status <> 'delivered' GROUP BY 2, 3
             UNION ALL
            SELECT 'notifications', notice.status::text, notice.tenant_id, count(*)
              FROM notifications_emailnotification AS notice WHERE notice.status IN ('waiting', 'dead') GROUP BY 2, 3
             UNION ALL
            SELECT 'turns_running', turn.status::text, turn.tenant_id, count(*)
              FROM runtime_turn AS turn WHERE turn.finished_at IS NULL GROUP BY 2, 3
             UNION ALL
            SELECT 'review_open', 'proposal', waits.tenant_id, count(*)
              FROM governance_proposal AS waits
             WHERE waits.state = 'open' AND coalesce(waits.expires_at, 'infinity') > statement_timestamp() GROUP BY 3
             UNION ALL
            SELECT 'review_open', 'draft', waits.tenant_id, count(*)
              FROM desk_draft AS waits WHERE waits.status = 'open' GROUP BY 3
             UNION ALL
            SELECT 'review_open', 'escalation', waits.tenant_id, count(*)
              FROM desk_escalation AS waits WHERE waits.status = 'open' GROUP BY 3
             UNION ALL
            SELECT spent.name, spent.label, day.tenant_id, sum(spent.value)
              FROM runtime_spend AS day CROSS JOIN LATERAL (VALUES
                ('spent_calls_total', 'turns', day.calls::float8), ('spent_calls_total', 'learning', day.learning_calls),
                ('spent_micro_usd_total', 'turns', day.cost_micro_usd),
                ('spent_micro_usd_total', 'learning', day.learning_cost_micro_usd),
                ('spent_tokens_total', 'input', day.input_tokens), ('spent_tokens_total', 'output', day.output_tokens),
                ('spent_tokens_total', 'cache_read', day.cache_read_tokens),
                ('spent_tokens_total', 'cache_write_5m', day.cache_write_5m_tokens),
                ('spent_tokens_total', 'cache_write_1h', day.cache_write_1h_tokens),
                ('spent_tokens_total', 'learning_input', day.learning_input_tokens),
                ('spent_tokens_total', 'learning_output', day.learning_output_tokens)
              ) AS spent (name, label, value) GROUP BY 1, 2, 3
        ) AS counted JOIN tenants_tenant AS tenant ON tenant.id = counted.tenant_id
         UNION ALL
        SELECT 'circuit_breakers', breaker.state::text, '', count(*)::float8 FROM runtime_circuitbreaker AS breaker GROUP BY 2;
END $$;
REVOKE ALL ON FUNCTION list_installation_gauges() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION list_installation_gauges() TO @login@;
ALTER FUNCTION list_installation_gauges() OWNER TO @cross_tenant@;

-- Trigger function that refuses a second report for the turn of an external agent.
CREATE OR REPLACE FUNCTION refuse_change_of_turn_report() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'A turn is reported once.' USING ERRCODE = 'check_violation', CONSTRAINT = 'external_turn';
END $$;

-- Trigger function on turns: it refuses a handed-out user turn and a report on turns of our own workers, a handed-out user
-- turn on an ended turn, and a finished turn of an external agent without its report. A reply that a person writes is a turn
-- without a session and needs no report.
CREATE OR REPLACE FUNCTION check_external_turn() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    is_external boolean;
BEGIN
    SELECT thread.has_external_agent INTO is_external FROM conversations_conversation AS thread
     WHERE thread.tenant_id = NEW.tenant_id AND thread.id = NEW.conversation_id;
    IF NOT is_external AND (NEW.external_user_turn IS NOT NULL OR NEW.report_sha256 <> '') THEN
        RAISE EXCEPTION 'Only a turn of an external agent is handed out and reported.'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'external_turn';
    END IF;
    IF NEW.external_user_turn IS NOT NULL AND NEW.status <> 'running' THEN
        RAISE EXCEPTION 'The user turn of an external agent is kept only while the turn runs.'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'external_turn';
    END IF;
    IF is_external AND NEW.status = 'done' AND NEW.session_id IS NOT NULL AND NEW.report_sha256 = '' THEN
        RAISE EXCEPTION 'A turn of an external agent ends with its report.'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'external_turn';
    END IF;
    RETURN NEW;
END $$;

-- Returns the rows with words in a prompt part, as strings of kind and id. It is IMMUTABLE so that the index part_by_owner
-- can use it.
CREATE OR REPLACE FUNCTION list_part_owners(segments jsonb) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT coalesce(array_agg(DISTINCT (owner ->> 0) || ' ' || (owner ->> 1)), '{}')
      FROM jsonb_array_elements(segments -> 'owners') AS owner WHERE jsonb_typeof(owner) = 'array'
$$;

-- Returns the newest prompt parts with words of one row, and the versions of that row they carry. Python calls it to find
-- the exposure of a row. It is SECURITY DEFINER because array containment is not leakproof: under row security the index
-- would not be used. The function filters by the tenant itself.
CREATE OR REPLACE FUNCTION find_parts_with_record(record_type text, record_id bigint, max_rows integer)
    RETURNS TABLE(part_id bigint, versions integer[])
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH found AS MATERIALIZED (
        SELECT part.id, part.segments FROM runtime_snapshotpart AS part
         WHERE part.tenant_id = app_tenant() AND list_part_owners(part.segments) @> ARRAY[record_type || ' ' || record_id]
    ), latest AS (SELECT * FROM found ORDER BY id DESC LIMIT max_rows)
    SELECT latest.id, array_agg(DISTINCT (owner ->> 2)::integer)
      FROM latest CROSS JOIN LATERAL jsonb_array_elements(latest.segments -> 'owners') AS owner
     WHERE owner ->> 0 = record_type AND owner ->> 1 = record_id::text
     GROUP BY latest.id
$$;
REVOKE ALL ON FUNCTION find_parts_with_record(text,bigint,integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_parts_with_record(text,bigint,integer) TO @operator@, @staff@, @worker@;
ALTER FUNCTION find_parts_with_record(text,bigint,integer) OWNER TO @cross_tenant@;

-- Trigger function on model calls: for an external agent it refuses calls before the report of the turn, and calls that
-- claim to come from the stand-in model. Stand-in calls cost nothing, so a report could otherwise hide its cost.
CREATE OR REPLACE FUNCTION check_external_model_call() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM runtime_turn AS turn JOIN conversations_conversation AS thread
            ON thread.tenant_id = turn.tenant_id AND thread.id = turn.conversation_id
         WHERE turn.tenant_id = NEW.tenant_id AND turn.id = NEW.turn_id AND thread.has_external_agent
           AND (turn.report_sha256 = '' OR NEW.is_stand_in)) THEN
        RAISE EXCEPTION 'An external agent calls its model itself and reports its calls.'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'external_turn';
    END IF;
    RETURN NEW;
END $$;

-- Returns the newest sessions that carry any of these prompt parts. It is SECURITY DEFINER because row security would check
-- the visibility of every session. The exposure query joins the result with the sessions that the caller may see.
CREATE OR REPLACE FUNCTION find_sessions_with_parts(part_ids bigint[], max_rows integer)
    RETURNS TABLE(session_id bigint, part_id bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT newest.session_id, wanted.id FROM unnest(part_ids) AS wanted (id) CROSS JOIN LATERAL (
           SELECT runtime_sessionpart.session_id FROM runtime_sessionpart
            WHERE runtime_sessionpart.tenant_id = app_tenant() AND runtime_sessionpart.part_id = wanted.id
            ORDER BY runtime_sessionpart.session_id DESC LIMIT max_rows) AS newest
     ORDER BY newest.session_id DESC LIMIT max_rows
$$;
REVOKE ALL ON FUNCTION find_sessions_with_parts(bigint[],integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_sessions_with_parts(bigint[],integer) TO @operator@, @staff@, @worker@;
ALTER FUNCTION find_sessions_with_parts(bigint[],integer) OWNER TO @cross_tenant@;

-- Returns how much work of each kind is due in the current tenant, since when, and whether it is delayed to keep the day's
-- budget for replies. The health page of the console calls it. It is SECURITY DEFINER because it uses the functions of
-- find_due_work, which only the cross-tenant role may execute.
CREATE OR REPLACE FUNCTION count_due_work(kinds text[])
    RETURNS TABLE(kind text, row_count bigint, oldest_due_at timestamp with time zone, is_budget_reserved boolean)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DECLARE
        work_kind text;
        waits boolean := EXISTS (SELECT 1 FROM tenants_tenantsettings AS settings
            WHERE settings.tenant_id = app_tenant() AND settings.day_budget_micro_usd IS NOT NULL
                AND is_learning_budget_reserved(settings.tenant_id));
    BEGIN
        FOREACH work_kind IN ARRAY kinds LOOP
            RETURN QUERY EXECUTE format('
                SELECT $1, count(*), min(nullif(due.due_at, ''-infinity'')), $2
                    FROM %I() AS due WHERE due.tenant_id = app_tenant()', 'list_due_' || work_kind)
                USING work_kind, waits AND work_kind IN ('extractions', 'reflections', 'digests', 'distillations');
        END LOOP;
    END
$$;
REVOKE ALL ON FUNCTION count_due_work(text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION count_due_work(text[]) TO @operator@, @staff@;
ALTER FUNCTION count_due_work(text[]) OWNER TO @cross_tenant@;
