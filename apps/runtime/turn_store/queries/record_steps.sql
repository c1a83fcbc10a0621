-- Writes steps of a turn, or tool calls of a step, into the journal, and extends the turn's lease.
--
-- Called by: record_steps (apps/runtime/turn_store/turn_journal.py)
-- Runs as: worker
-- One statement: the fence is checked by the statement that writes, so a worker that was overtaken cannot act in between.
-- Locks: the turn's row
-- Parameters:
--   :turn      bigint    the turn
--   :fence     integer   the fence that its worker holds
--   :lease     interval  how long the lease lasts from now
--   :asking    integer   number of the model call that comes next
--   :calls     jsonb     model calls, a list of objects with the columns of runtime_modelcall
--   :tools     jsonb     tool calls, a list of objects with the columns of runtime_toolstep
--   :restarts  integer   how often a turn may begin anew, 0 for never
--   :stops     text[]    kinds of kill switch under which nothing is answered
--   :sending   text[]    kinds of kill switch under which no reply is sent
-- Returns: no row if the worker was overtaken, else one row:
--   may_go_on           boolean  false where an operator stopped the conversation meanwhile
--   has_new_messages    boolean  whether messages arrived for which the turn may begin anew
--   day_left_micro_usd  bigint   the tenant's budget of the day before these calls, null without one
--   is_sending_paused   boolean  whether no reply is sent at present

WITH held_turn AS (
    UPDATE runtime_turn
    SET lease_until = statement_timestamp() + :lease::interval,
        current_step = :asking,
        step_started_at = statement_timestamp(),
        failed_calls = 0,
        failure_code = '',
        failure = ''
    WHERE tenant_id = app_tenant()
      AND id = :turn
      AND fence = :fence
      AND status = 'running'
      AND NOT is_released
    RETURNING id, tenant_id, fence, round, conversation_id
),
-- include: apps/runtime/turn_store/queries/fragments/insert_steps.sql
SELECT
    NOT is_conversation_stopped(:stops, turn.tenant_id, turn.conversation_id) AS may_go_on,
    -- include: apps/runtime/turn_store/queries/fragments/has_new_messages.sql
    AS has_new_messages,
    -- include: apps/runtime/turn_store/queries/fragments/day_budget_left.sql
    AS day_left_micro_usd,
    is_kill_switch_on(:sending, turn.tenant_id, turn.conversation_id) AS is_sending_paused
FROM held_turn AS turn
