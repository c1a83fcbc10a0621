-- Functions of lessons: what triggers, policies, indexes and the product's own statements call.

-- Returns the agents with a correction of the last seven days and no lesson case for it: an edited or discarded draft, an
-- answered escalation, a failed turn, a rejected proposal, a rejected or withdrawn learning version, a settled report. The
-- limit keeps a search short that runs every minute, and older ones are taken along with the agent's next lesson.
-- Conversations off the record and members' own conversations are left out.
CREATE OR REPLACE FUNCTION due_of_lesson()
    RETURNS TABLE(tenant_id bigint, row_id bigint, since timestamp with time zone)
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT told.tenant_id, told.agent_id, min(told.at) FROM (
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
        SELECT 'dead_turn', turn.id, turn.tenant_id, thread.agent_id, turn.conversation_id, turn.finished_at
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
            FROM lessons_learningversion AS learned
            WHERE learned.status IN ('rejected', 'withdrawn')
                AND learned.updated_at > statement_timestamp() - interval '7 days'
        UNION ALL
        SELECT 'reported_reply', report.id, report.tenant_id, report.agent_id, report.conversation_id, report.decided_at
            FROM reports_report AS report WHERE report.status = 'settled'
                AND report.decided_at > statement_timestamp() - interval '7 days'
    ) AS told
        WHERE NOT EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.tenant_id = told.tenant_id
            AND thread.id = told.conversation_id AND (thread.off_the_record OR thread.member_user_id IS NOT NULL))
        AND NOT EXISTS (SELECT 1 FROM lessons_lessoncase AS known WHERE known.tenant_id = told.tenant_id
            AND known.source = told.source AND known.source_id = told.id)
        GROUP BY told.tenant_id, told.agent_id
$$;
REVOKE ALL ON FUNCTION due_of_lesson() FROM PUBLIC;
ALTER FUNCTION due_of_lesson() OWNER TO @crossing@;

-- Trigger function that refuses a change of status by anybody but a person. A worker may only reopen a dismissed edit
-- cluster.
CREATE OR REPLACE FUNCTION hold_edit_cluster() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.status <> OLD.status AND NOT pg_has_role(current_user, '@operator@'::regrole, 'USAGE')
        AND (OLD.status <> 'dismissed' OR NEW.status <> 'open') THEN
        RAISE EXCEPTION 'A person decides on what people change again and again.' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;

-- Trigger function on learning versions: it refuses to delete one that is active, pending review or withdrawn, to insert one
-- as approved, and to let anybody but a person withdraw one. A person signs the version they activate. A worker may activate
-- one pending review if the tenant's settings apply learning automatically.
CREATE OR REPLACE FUNCTION hold_learning_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF OLD.status IN ('active', 'pending', 'withdrawn') THEN
            RAISE EXCEPTION 'A version that is read, waits for a person, or was withdrawn stays.' USING ERRCODE = 'check_violation';
        END IF;
        RETURN OLD;
    END IF;
    IF TG_OP = 'INSERT' AND NEW.approved_by <> '' THEN
        RAISE EXCEPTION 'Nobody has approved a version before it is there.' USING ERRCODE = 'check_violation';
    END IF;
    IF TG_OP = 'UPDATE' AND NEW.status = 'withdrawn' AND NOT pg_has_role(current_user, '@operator@'::regrole, 'USAGE') THEN
        RAISE EXCEPTION 'A person withdraws a version.' USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NEW.status <> 'active' OR TG_OP = 'INSERT' OR OLD.status = 'active' THEN
        RETURN NEW;
    END IF;
    IF pg_has_role(current_user, '@operator@'::regrole, 'USAGE') THEN
        IF NEW.approved_by = '' THEN
            RAISE EXCEPTION 'Whoever activates a version signs it.' USING ERRCODE = 'insufficient_privilege';
        END IF;
    ELSIF OLD.status <> 'pending' OR NOT EXISTS (
        SELECT FROM tenants_tenantsettings WHERE tenant_id = NEW.tenant_id AND learning_apply_mode = 'auto') THEN
        RAISE EXCEPTION 'Here a person says yes to what agents learn.' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
