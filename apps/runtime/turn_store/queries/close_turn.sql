-- Ends a turn: its last steps, what it leaves in the transcript, its reply, the webhook deliveries of that, the skills that were
-- read, and its state. All of it is written, or nothing.
--
-- Called by: close_turn (apps/runtime/turn_store/turn_journal.py)
-- Runs as: worker
-- One statement: a reply is sent only if, at the moment it is written, the worker still holds the turn, no person stopped the
--   conversation, no message arrived for which the turn should begin anew, and the rules for sending are those that it was
--   written under.
-- Locks: the turn's row; the conversation's row, as people lock it who write into its transcript, so that two never take the same
--   position; the day's spend; the skills' use counts, in the order of the skills, so that two turns never wait for each other
-- Parameters:
--   :turn          bigint    the turn
--   :fence         integer   the fence that its worker holds
--   :conversation  bigint    its conversation
--   :agent         bigint    its agent
--   :session       bigint    the session that it ran in, null to keep the turn's own
--   :calls         jsonb     last model calls, a list of objects with the columns of runtime_modelcall
--   :tools         jsonb     last tool calls, a list of objects with the columns of runtime_toolstep
--   :messages      jsonb     transcript, a list of objects with the columns of conversations_message, positions from 0
--   :segments      jsonb     owners of the bytes of the user turn, null where the journal has them already
--   :skill_reads   jsonb     skills that were read, a list of objects {id, times}
--   :status        text      the turn's status: done, failed or cancelled
--   :outcome       text      its outcome
--   :code          text      code of its failure, '' for none
--   :failure       text      its failure in a sentence, '' for none
--   :lost          text      result of an outside call that is still open; nobody will learn what it did
--   :stops         text[]    kinds of kill switch that keep this end from being written; empty where nothing does
--   :restarts      integer   how often a turn may begin anew, 0 for never
--   :rules         jsonb     send mode and send rules that the reply was written under, null where they do not matter
-- Returns: one row:
--   has_ended         boolean  whether the turn ended by this statement
--   is_held           boolean  whether the worker holds the turn; if nothing was written, false says that it was overtaken
--   is_more_due       boolean  whether further messages of the conversation are due by now
--   has_new_messages  boolean  whether messages arrived for which the turn should begin anew; if nothing was written and the turn
--                              is held, false says that a person stopped it or changed how replies are sent

WITH held_turn AS (
    SELECT turn.id, turn.tenant_id, turn.fence, turn.round, turn.conversation_id
    FROM runtime_turn AS turn
    WHERE turn.tenant_id = app_tenant()
      AND turn.id = :turn
      AND turn.fence = :fence
      AND turn.status = 'running'
      AND NOT turn.is_released
      AND NOT is_conversation_stopped(:stops, turn.tenant_id, turn.conversation_id)
      AND NOT (
          -- include: apps/runtime/turn_store/queries/fragments/has_new_messages.sql
      )
      AND (:rules::jsonb IS NULL OR :rules::jsonb = (
          SELECT jsonb_build_array(
              agent.send_mode,
              coalesce(
                  jsonb_agg(jsonb_build_array(rule.send_mode, rule.channel, rule.skill_id) ORDER BY rule.id)
                      FILTER (WHERE rule.id IS NOT NULL),
                  '[]'
              )
          )
          FROM tenants_agent AS agent
          LEFT JOIN desk_sendrule AS rule ON rule.tenant_id = agent.tenant_id AND rule.agent_id = agent.id
          WHERE agent.tenant_id = app_tenant() AND agent.id = :agent
          GROUP BY agent.id
      ))
    FOR NO KEY UPDATE
),
-- include: apps/runtime/turn_store/queries/fragments/insert_steps.sql
, locked_thread AS (
    SELECT thread.id
    FROM held_turn
    JOIN conversations_conversation AS thread
      ON thread.tenant_id = held_turn.tenant_id AND thread.id = held_turn.conversation_id
    FOR NO KEY UPDATE OF thread
), lost_call AS (
    -- A turn may be given up with an outside call under way.
    UPDATE runtime_toolstep AS tool
    SET state = 'unknown',
        result = :lost,
        is_error = true,
        finished_at = statement_timestamp()
    FROM held_turn
    WHERE tool.tenant_id = held_turn.tenant_id AND tool.turn_id = held_turn.id AND tool.state = 'started'
), new_message AS (
    INSERT INTO conversations_message (
        tenant_id, conversation_id, position, sender, text, tool_calls, api_message, turn_id, is_reply, created_at
    )
    SELECT
        held_turn.tenant_id,
        held_turn.conversation_id,
        message.position + 1 + (
            SELECT coalesce(max(old.position), -1)
            FROM conversations_message AS old
            WHERE old.tenant_id = held_turn.tenant_id AND old.conversation_id = held_turn.conversation_id
        ),
        message.sender, message.text, message.tool_calls, message.api_message, message.turn_id, message.is_reply,
        statement_timestamp()
    FROM held_turn, locked_thread, jsonb_populate_recordset(NULL::conversations_message, :messages::jsonb) AS message
    RETURNING id, is_reply
), new_delivery AS (
    INSERT INTO webhooks_delivery (tenant_id, webhook_id, conversation_id, event, subject_id)
    SELECT webhook.tenant_id, webhook.id, source.conversation_id, 'reply', source.subject_id
    FROM (
        SELECT held_turn.conversation_id, reply.id AS subject_id
        FROM held_turn, (SELECT id FROM new_message WHERE is_reply) AS reply
    ) AS source, webhooks_webhook AS webhook
    WHERE webhook.tenant_id = app_tenant()
      AND webhook.is_active
      AND webhook.secret_id IS NOT NULL
      AND webhook.on_reply
      AND
      -- include: apps/webhooks/queries/fragments/is_customer_conversation.sql
), closed_turn AS (
    UPDATE runtime_turn AS turn
    SET status = :status,
        outcome = :outcome,
        finished_at = statement_timestamp(),
        reply_id = (SELECT new_message.id FROM new_message WHERE new_message.is_reply),
        failure_code = :code,
        failure = :failure,
        session_id = coalesce(:session, turn.session_id),
        user_turn_segments = :segments::jsonb,
        external_user_turn = NULL
    FROM held_turn
    WHERE turn.id = held_turn.id AND turn.tenant_id = held_turn.tenant_id
    RETURNING turn.id
), skill_use AS (
    INSERT INTO skills_skilluse (tenant_id, skill_id, use_count, last_used_at)
    SELECT held_turn.tenant_id, skill.id, skill_read.times, statement_timestamp()
    FROM held_turn, skills_skill AS skill, jsonb_to_recordset(:skill_reads::jsonb) AS skill_read (id bigint, times integer)
    WHERE skill.tenant_id = held_turn.tenant_id AND skill.id = skill_read.id
    ORDER BY skill.id
    ON CONFLICT (tenant_id, skill_id) DO UPDATE
    SET use_count = skills_skilluse.use_count + excluded.use_count,
        last_used_at = excluded.last_used_at
)
SELECT
    EXISTS (SELECT 1 FROM closed_turn) AS has_ended,
    EXISTS (
        SELECT 1
        FROM runtime_turn
        WHERE tenant_id = app_tenant()
          AND id = :turn
          AND fence = :fence
          AND status = 'running'
          AND NOT is_released
    ) AS is_held,
    EXISTS (
        SELECT 1
        FROM conversations_inboundevent
        WHERE tenant_id = app_tenant()
          AND conversation_id = :conversation
          AND turn_id IS NULL
          AND due_at <= statement_timestamp()
    ) AS is_more_due,
    EXISTS (
        SELECT 1
        FROM runtime_turn AS turn
        WHERE turn.tenant_id = app_tenant()
          AND turn.id = :turn
          AND
          -- include: apps/runtime/turn_store/queries/fragments/has_new_messages.sql
    ) AS has_new_messages
