-- Reads the facts of an agent's latest conversations that ended on the record and are not in quarantine: states, counts and names,
-- none of the words.
--
-- Called by: read_session_log (apps/learning/distillation/session_log.py)
-- Runs as: worker
-- One statement: all facts are of one snapshot.
-- Locks: nothing
-- Parameters:
--   :agent  bigint   the agent
--   :limit  integer  conversations to read
-- Returns: a row for each conversation, the latest first:
--   at     timestamptz  when it ended
--   facts  jsonb        its facts, the fields of EndedConversation

WITH thread AS MATERIALIZED (
    SELECT *
    FROM conversations_conversation
    WHERE tenant_id = app_tenant()
      AND agent_id = :agent
      AND status <> 'open'
      AND origin = 'live'
      AND NOT off_the_record
      AND quarantined_at IS NULL
      AND member_user_id IS NULL
      AND parent_id IS NULL
    ORDER BY coalesce(resolved_at, updated_at) DESC, id DESC
    LIMIT :limit
), tool_call AS MATERIALIZED (
    -- A tool that no session offered is a name that the model made up, and stays out.
    SELECT
        message.conversation_id,
        call ->> 'name' AS name,
        call -> 'arguments' ->> 'skill_id' AS skill_id,
        call ->> 'name' = 'get_skill'
            OR (call ->> 'name' = 'skill_view' AND call ->> 'result' LIKE '%"status":"approved"%') AS gave_approved
    FROM thread
    JOIN conversations_message AS message
      ON message.tenant_id = thread.tenant_id AND message.conversation_id = thread.id,
        jsonb_array_elements(message.tool_calls) AS call
    WHERE EXISTS (
        SELECT 1
        FROM runtime_session AS session
        WHERE session.tenant_id = thread.tenant_id
          AND session.conversation_id = thread.id
          AND session.tool_names ? (call ->> 'name')
    )
)
SELECT
    coalesce(thread.resolved_at, thread.updated_at) AS at,
    jsonb_build_object(
        'channel', thread.channel,
        'status', thread.status,
        'outcome', thread.outcome,
        'is_reopened', EXISTS (
            SELECT 1
            FROM conversations_conversation AS earlier
            CROSS JOIN LATERAL (SELECT thread.*) AS later
            WHERE
                -- include: apps/conversations/queries/fragments/is_repeat_contact.sql
        ),
        'customer_messages', (
            SELECT count(*)
            FROM conversations_message AS message
            WHERE message.tenant_id = thread.tenant_id
              AND message.conversation_id = thread.id
              AND message.sender = 'customer'
        ),
        'tools', (SELECT jsonb_agg(DISTINCT tool_call.name) FROM tool_call WHERE tool_call.conversation_id = thread.id),
        -- A skill that no person approved stays out.
        'skills', (
            SELECT jsonb_agg(DISTINCT skill.name)
            FROM tool_call
            JOIN skills_skill AS skill
              ON skill.tenant_id = thread.tenant_id
             AND skill.id::text = tool_call.skill_id
             AND skill.agent_id = thread.agent_id
            WHERE tool_call.conversation_id = thread.id AND tool_call.gave_approved AND skill.approved_by <> ''
        ),
        'escalations', (
            SELECT jsonb_agg(DISTINCT question.reason)
            FROM desk_escalation AS question
            WHERE question.tenant_id = thread.tenant_id AND question.conversation_id = thread.id
        ),
        'edited_drafts', (
            SELECT count(*)
            FROM desk_draft AS draft
            WHERE draft.tenant_id = thread.tenant_id AND draft.conversation_id = thread.id AND draft.status = 'sent_edited'
        ),
        'discarded_drafts', (
            SELECT count(*)
            FROM desk_draft AS draft
            WHERE draft.tenant_id = thread.tenant_id AND draft.conversation_id = thread.id AND draft.status = 'discarded'
        )
    ) AS facts
FROM thread
ORDER BY at DESC, thread.id DESC
