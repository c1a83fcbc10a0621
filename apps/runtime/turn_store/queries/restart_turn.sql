-- Begins a new round of a turn with the messages that arrived meanwhile. The steps of the round before stay in the journal.
--
-- Called by: restart (apps/runtime/turn_store/turn_journal.py)
-- Runs as: worker
-- One statement: it checks once more itself whether the turn may begin anew, so nothing is asked twice that was done once; and the
--   steps of the round before are written with it, or not at all.
-- Locks: the turn's row; the messages of the conversation that no turn has yet (FOR UPDATE, in the order of their ids)
-- Parameters:
--   :turn      bigint    the turn
--   :fence     integer   the fence that its worker holds
--   :session   bigint    the session that the turn runs in, null to keep the turn's own
--   :lease     interval  how long the lease lasts from now
--   :calls     jsonb     model calls of the round before, a list of objects with the columns of runtime_modelcall
--   :tools     jsonb     tool calls of the round before, a list of objects with the columns of runtime_toolstep
--   :restarts  integer   how often a turn may begin anew, 0 for never
--   :stops     text[]    kinds of kill switch under which nothing is answered
--   :sending   text[]    kinds of kill switch under which no reply is sent
-- Returns: no row if the worker was overtaken, else one row:
--   has_restarted      boolean  whether a new round began
--   may_go_on          boolean  false where an operator stopped the conversation meanwhile
--   is_sending_paused  boolean  whether no reply is sent at present

WITH own_turn AS (
    SELECT id, tenant_id, conversation_id
    FROM runtime_turn
    WHERE tenant_id = app_tenant()
      AND id = :turn
      AND fence = :fence
      AND status = 'running'
      AND NOT is_released
    FOR NO KEY UPDATE
), waiting_event AS (
    SELECT event.id
    FROM conversations_inboundevent AS event
    JOIN own_turn ON event.tenant_id = own_turn.tenant_id AND event.conversation_id = own_turn.conversation_id
    WHERE event.turn_id IS NULL
    ORDER BY event.id
    FOR UPDATE OF event
), held_turn AS (
    -- No row where the turn goes on as it is.
    UPDATE runtime_turn AS turn
    SET round = turn.round + 1,
        lease_until = statement_timestamp() + :lease::interval,
        current_step = 1,
        session_id = coalesce(:session, turn.session_id),
        step_started_at = statement_timestamp(),
        failed_calls = 0,
        failure_code = '',
        failure = ''
    FROM own_turn
    WHERE turn.id = own_turn.id
      AND EXISTS (SELECT 1 FROM waiting_event)
      AND
      -- include: apps/runtime/turn_store/queries/fragments/has_new_messages.sql
    -- The round before: its steps are written below.
    RETURNING turn.id, turn.tenant_id, turn.fence, turn.round - 1 AS round, turn.conversation_id
),
-- include: apps/runtime/turn_store/queries/fragments/insert_steps.sql
, assigned_event AS (
    UPDATE conversations_inboundevent AS event
    SET turn_id = held_turn.id
    FROM held_turn, waiting_event
    WHERE event.id = waiting_event.id
)
SELECT
    EXISTS (SELECT 1 FROM held_turn) AS has_restarted,
    NOT is_conversation_stopped(:stops, own_turn.tenant_id, own_turn.conversation_id) AS may_go_on,
    is_kill_switch_on(:sending, own_turn.tenant_id, own_turn.conversation_id) AS is_sending_paused
FROM own_turn
