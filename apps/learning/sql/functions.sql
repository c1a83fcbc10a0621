-- Functions of learning: what triggers, policies, indexes and the product's own statements call.

-- Returns the agents without a finished check for contradictions since 03:00 by the tenant's clock, and at any time those
-- with a check that a person requested. Agents under a lease are left out.
CREATE OR REPLACE FUNCTION list_due_contradiction_scans()
    RETURNS TABLE(tenant_id bigint, row_id bigint, due_at timestamp with time zone)
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT agent.tenant_id, agent.id, (tonight.day + time '03:00') AT TIME ZONE tonight.zone FROM (
        SELECT settings.tenant_id, settings.timezone AS zone,
               (statement_timestamp() AT TIME ZONE settings.timezone - interval '3 hours')::date AS day
            FROM tenants_tenantsettings AS settings
    ) AS tonight JOIN tenants_agent AS agent ON agent.tenant_id = tonight.tenant_id
        WHERE NOT EXISTS (
            SELECT 1 FROM learning_contradictionscan AS scan WHERE scan.tenant_id = agent.tenant_id
                AND scan.agent_id = agent.id AND (scan.lease_until > statement_timestamp()
                    OR (scan.scan_date >= tonight.day AND scan.requested_at IS NULL)))
$$;
REVOKE ALL ON FUNCTION list_due_contradiction_scans() FROM PUBLIC;
ALTER FUNCTION list_due_contradiction_scans() OWNER TO @cross_tenant@;

-- Returns the lessons whose words come from a conversation in quarantine: from their first case, since later cases have the same
-- words. It starts from the quarantined conversations, which are few.
CREATE OR REPLACE FUNCTION list_quarantined_lessons() RETURNS SETOF bigint
    LANGUAGE sql STABLE AS $$
    SELECT first_case.lesson_id FROM conversations_conversation AS thread
        JOIN learning_lessoncase AS first_case
            ON first_case.tenant_id = thread.tenant_id AND first_case.conversation_id = thread.id
        WHERE thread.quarantined_at IS NOT NULL AND first_case.lesson_id IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM learning_lessoncase AS earlier WHERE earlier.tenant_id = first_case.tenant_id
                AND earlier.lesson_id = first_case.lesson_id AND earlier.id < first_case.id)
$$;

-- Returns the agents with lessons that a digest has not read and that have two cases or enough confidence
-- (PROMOTABLE_SUPPORT and PROMOTABLE_CONFIDENCE in Python). Agents with a version pending review, frozen learning, a lease
-- of another worker or a later retry time are left out.
CREATE OR REPLACE FUNCTION list_due_digests()
    RETURNS TABLE(tenant_id bigint, row_id bigint, due_at timestamp with time zone)
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT lesson.tenant_id, lesson.agent_id, min(lesson.last_case_recorded_at) FROM learning_lesson AS lesson
        JOIN tenants_agent AS agent ON agent.tenant_id = lesson.tenant_id AND agent.id = lesson.agent_id AND agent.has_learning
        LEFT JOIN learning_digestclaim AS claim ON claim.tenant_id = lesson.tenant_id AND claim.agent_id = lesson.agent_id
        WHERE lesson.learning_version_id IS NULL AND lesson.id NOT IN (SELECT list_quarantined_lessons()) AND (lesson.support_count >= 2 OR lesson.confidence >= 0.4)
            AND lesson.last_case_recorded_at > coalesce(claim.last_digest_at, '-infinity')
            AND coalesce(greatest(claim.lease_until, claim.next_attempt_at) <= statement_timestamp(), true)
            AND NOT EXISTS (SELECT 1 FROM learning_learningversion AS version WHERE version.tenant_id = lesson.tenant_id
                AND version.agent_id = lesson.agent_id AND version.status = 'pending')
            AND NOT EXISTS (SELECT 1 FROM kill_switches_killswitch AS switch WHERE switch.tenant_id = lesson.tenant_id
                AND switch.status = 'on' AND switch.kind = 'freeze-learning' AND switch.channel = ''
                AND (switch.agent_id IS NULL OR switch.agent_id = lesson.agent_id))
        GROUP BY lesson.tenant_id, lesson.agent_id
$$;
REVOKE ALL ON FUNCTION list_due_digests() FROM PUBLIC;
ALTER FUNCTION list_due_digests() OWNER TO @cross_tenant@;

-- Returns the agents with a memory tier that is due for distillation. An agent without a clock row is due as well, because
-- the first run creates the rows. A run that a person requested does not need distillation to be on.
CREATE OR REPLACE FUNCTION list_due_distillations()
    RETURNS TABLE(tenant_id bigint, row_id bigint, due_at timestamp with time zone)
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT agent.tenant_id, agent.id, min(coalesce(clock.next_run_at, agent.updated_at)) FROM tenants_agent AS agent
        LEFT JOIN learning_tierclock AS clock ON clock.tenant_id = agent.tenant_id AND clock.agent_id = agent.id
        WHERE agent.has_learning AND (agent.is_memory_distilled AND clock.id IS NULL OR (agent.is_memory_distilled OR clock.requested_by <> '')
            AND clock.next_run_at <= statement_timestamp() AND clock.lease_until <= statement_timestamp())
        GROUP BY agent.tenant_id, agent.id
$$;
REVOKE ALL ON FUNCTION list_due_distillations() FROM PUBLIC;
ALTER FUNCTION list_due_distillations() OWNER TO @cross_tenant@;

-- Returns the resolved live conversations without a learning result. Conversations in quarantine, under a lease, with a later
-- retry time or with frozen learning are left out. Imported conversations are processed by a command instead.
CREATE OR REPLACE FUNCTION list_due_extractions()
    RETURNS TABLE(tenant_id bigint, row_id bigint, due_at timestamp with time zone)
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT thread.tenant_id, thread.id, thread.resolved_at FROM conversations_conversation AS thread
        WHERE thread.status = 'resolved' AND thread.origin = 'live' AND thread.quarantined_at IS NULL AND NOT EXISTS (
            SELECT 1 FROM learning_extraction AS extraction WHERE extraction.conversation_id = thread.id)
        -- Nobody looks at it just now, and after a failure its next look is due.
        AND NOT EXISTS (SELECT 1 FROM learning_extractionclaim AS claim WHERE claim.tenant_id = thread.tenant_id
            AND claim.conversation_id = thread.id AND greatest(claim.lease_until, claim.next_attempt_at) > statement_timestamp())
        AND NOT is_kill_switch_on(ARRAY['freeze-learning'], thread.tenant_id, thread.id)
$$;
REVOKE ALL ON FUNCTION list_due_extractions() FROM PUBLIC;
ALTER FUNCTION list_due_extractions() OWNER TO @cross_tenant@;

-- Returns the agents with a correction of the last seven days and no lesson case for it: an edited or discarded draft, an
-- answered escalation, a failed turn, a rejected proposal, a rejected or withdrawn learning version, a settled report. The
-- limit keeps a search short that runs every minute, and older ones are taken along with the agent's next lesson.
-- Conversations off the record or in quarantine and members' own conversations are left out.
CREATE OR REPLACE FUNCTION list_due_lesson_captures()
    RETURNS TABLE(tenant_id bigint, row_id bigint, due_at timestamp with time zone)
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT found.tenant_id, found.agent_id, min(found.at) FROM (
        SELECT CASE draft.status WHEN 'discarded' THEN 'discarded_draft' ELSE 'edited_draft' END AS source, draft.id,
               draft.tenant_id, draft.agent_id, draft.conversation_id, draft.decided_at AS at
            FROM desk_draft AS draft WHERE draft.status IN ('sent_edited', 'discarded')
                AND draft.decided_at > statement_timestamp() - interval '7 days'
        UNION ALL
        SELECT 'answered_escalation', question.id, question.tenant_id, question.agent_id, question.conversation_id,
               question.decided_at
            FROM desk_escalation AS question WHERE question.status = 'answered'
                AND question.decided_at > statement_timestamp() - interval '7 days'
        UNION ALL
        SELECT 'failed_turn', turn.id, turn.tenant_id, thread.agent_id, turn.conversation_id, turn.finished_at
            FROM runtime_turn AS turn JOIN conversations_conversation AS thread
                ON thread.tenant_id = turn.tenant_id AND thread.id = turn.conversation_id
            WHERE turn.status = 'failed'
                AND turn.finished_at > statement_timestamp() - interval '7 days'
        UNION ALL
        SELECT 'rejected_proposal', proposal.id, proposal.tenant_id, proposal.agent_id, NULL, proposal.decided_at
            FROM governance_proposal AS proposal
            WHERE proposal.state = 'rejected'
                AND proposal.decided_at > statement_timestamp() - interval '7 days' AND proposal.agent_id IS NOT NULL
        UNION ALL
        SELECT 'rejected_version', learned.id, learned.tenant_id, learned.agent_id, NULL, learned.updated_at
            FROM learning_learningversion AS learned
            WHERE learned.status IN ('rejected', 'withdrawn')
                AND learned.updated_at > statement_timestamp() - interval '7 days'
        UNION ALL
        SELECT 'reported_reply', report.id, report.tenant_id, report.agent_id, report.conversation_id, report.decided_at
            FROM desk_report AS report WHERE report.status = 'resolved'
                AND report.decided_at > statement_timestamp() - interval '7 days'
    ) AS found
        WHERE NOT EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.tenant_id = found.tenant_id
            AND thread.id = found.conversation_id
            AND (thread.off_the_record OR thread.member_user_id IS NOT NULL OR thread.quarantined_at IS NOT NULL))
        AND NOT EXISTS (SELECT 1 FROM learning_lessoncase AS known WHERE known.tenant_id = found.tenant_id
            AND known.source = found.source AND known.source_id = found.id)
        GROUP BY found.tenant_id, found.agent_id
$$;
REVOKE ALL ON FUNCTION list_due_lesson_captures() FROM PUBLIC;
ALTER FUNCTION list_due_lesson_captures() OWNER TO @cross_tenant@;

-- Returns the agents with a finished day and no settled daily review of it. A day ends at 23:00 by the tenant's clock, and a
-- missed review stays due until the next day ends. Agents with frozen learning are left out.
CREATE OR REPLACE FUNCTION list_due_reflections()
    RETURNS TABLE(tenant_id bigint, row_id bigint, due_at timestamp with time zone)
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT agent.tenant_id, agent.id, (today.day + time '23:00') AT TIME ZONE today.zone FROM (
        SELECT settings.tenant_id, settings.timezone AS zone,
               (statement_timestamp() AT TIME ZONE settings.timezone - interval '23 hours')::date AS day
            FROM tenants_tenantsettings AS settings
    ) AS today JOIN tenants_agent AS agent ON agent.tenant_id = today.tenant_id
        WHERE agent.has_learning AND agent.has_reflection AND NOT EXISTS (
            SELECT 1 FROM learning_reflection AS known WHERE known.tenant_id = agent.tenant_id
                AND known.agent_id = agent.id AND known.day = today.day AND (
                    known.verdict <> 'waiting' OR greatest(known.lease_until, known.next_attempt_at) > statement_timestamp()))
        AND NOT EXISTS (
            SELECT 1 FROM kill_switches_killswitch AS switch WHERE switch.tenant_id = agent.tenant_id AND switch.status = 'on'
                AND switch.kind = 'freeze-learning' AND (switch.agent_id IS NULL OR switch.agent_id = agent.id)
                AND switch.channel = '')
$$;
REVOKE ALL ON FUNCTION list_due_reflections() FROM PUBLIC;
ALTER FUNCTION list_due_reflections() OWNER TO @cross_tenant@;

-- Trigger function on the tenant's settings: the next scheduled run of each memory tier moves to the same date and time of
-- day in the new time zone. A run that is due already, was requested by a person or repeats a failed one stays.
CREATE OR REPLACE FUNCTION move_tier_runs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE learning_tierclock SET next_run_at = (next_run_at AT TIME ZONE OLD.timezone) AT TIME ZONE NEW.timezone
        WHERE tenant_id = NEW.tenant_id AND requested_by = '' AND failures = 0 AND next_run_at > statement_timestamp();
    RETURN NULL;
END $$;

-- Trigger function that refuses a change of status by anybody but a person, with two exceptions for workers: they mark a
-- contradiction as gone, and return it to the status that a person left it in when the same lines appear again.
CREATE OR REPLACE FUNCTION check_contradiction() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_has_role(current_user, '@operator@'::regrole, 'USAGE') OR NEW.status = OLD.status OR NEW.status = 'gone'
        OR (OLD.status = 'gone' AND (NEW.status = 'dismissed') = (OLD.decided_by <> '')) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'Only people dismiss a contradiction, or open it again.' USING ERRCODE = 'insufficient_privilege';
END $$;

-- Trigger function that refuses a change of status by anybody but a person. A worker may only reopen a dismissed edit
-- cluster.
CREATE OR REPLACE FUNCTION guard_edit_cluster() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.status <> OLD.status AND NOT pg_has_role(current_user, '@operator@'::regrole, 'USAGE')
        AND (OLD.status <> 'dismissed' OR NEW.status <> 'open') THEN
        RAISE EXCEPTION 'Only people decide on recurring edits.' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;

-- Trigger function on learning versions: it refuses to delete one that is active, pending review or withdrawn, to insert one
-- as approved, and to let anybody but a person withdraw one. A person signs the version they activate. A worker may activate
-- one pending review if the tenant's settings apply learning automatically.
CREATE OR REPLACE FUNCTION guard_learning_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF OLD.status IN ('active', 'pending', 'withdrawn') THEN
            RAISE EXCEPTION 'A learning version that is active, pending review or withdrawn cannot be deleted.' USING ERRCODE = 'check_violation';
        END IF;
        RETURN OLD;
    END IF;
    IF TG_OP = 'INSERT' AND NEW.approved_by <> '' THEN
        RAISE EXCEPTION 'A new learning version is not approved.' USING ERRCODE = 'check_violation';
    END IF;
    IF TG_OP = 'UPDATE' AND NEW.status = 'withdrawn' AND NOT pg_has_role(current_user, '@operator@'::regrole, 'USAGE') THEN
        RAISE EXCEPTION 'Only people withdraw a learning version.' USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NEW.status <> 'active' OR TG_OP = 'INSERT' OR OLD.status = 'active' THEN
        RETURN NEW;
    END IF;
    IF pg_has_role(current_user, '@operator@'::regrole, 'USAGE') THEN
        IF NEW.approved_by = '' THEN
            RAISE EXCEPTION 'A person who activates a learning version is its approver.' USING ERRCODE = 'insufficient_privilege';
        END IF;
    ELSIF OLD.status <> 'pending' OR NOT EXISTS (
        SELECT FROM tenants_tenantsettings WHERE tenant_id = NEW.tenant_id AND learning_apply_mode = 'auto') THEN
        RAISE EXCEPTION 'In this tenant a person activates what agents learn.' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;

-- Returns true if four fifths of the tenant's budget for the day are spent: the rest is kept for replies to customers.
-- find_due_work calls it for all tenants, and a worker calls it for its own tenant before each model call of learning. It runs
-- with the rights of the caller.
CREATE OR REPLACE FUNCTION is_learning_budget_reserved(for_tenant_id bigint) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT EXISTS (
        SELECT 1 FROM tenants_tenantsettings AS settings WHERE settings.tenant_id = for_tenant_id
            AND settings.day_budget_micro_usd IS NOT NULL AND settings.day_budget_micro_usd * 4 / 5 <= (
                SELECT coalesce(sum(spend.cost_micro_usd + spend.learning_cost_micro_usd), 0) FROM runtime_spend AS spend
                    WHERE spend.tenant_id = for_tenant_id AND spend.day = get_tenant_today(for_tenant_id)))
$$;
REVOKE ALL ON FUNCTION is_learning_budget_reserved(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION is_learning_budget_reserved(bigint) TO @cross_tenant@, @worker@;
