-- Writes the result of an outside tool call that the journal has as begun, and extends the turn's lease.
--
-- Called by: end_call (apps/runtime/turn_store/turn_journal.py)
-- Runs as: worker
-- One statement: the fence is checked by the statement that writes.
-- Locks: the turn's row, the call's row
-- Parameters:
--   :turn      bigint    the turn
--   :fence     integer   the fence that its worker holds
--   :lease     interval  how long the lease lasts from now
--   :step      integer   the step that the call is of
--   :position  integer   its place among the calls of the step
--   :state     text      its new state: done or unknown
--   :result    text      what the tool gave back
--   :is_error  boolean   whether that is an error
-- Returns: the call's id; no row if the worker was overtaken

WITH held_turn AS (
    UPDATE runtime_turn
    SET lease_until = statement_timestamp() + :lease::interval
    WHERE tenant_id = app_tenant()
      AND id = :turn
      AND fence = :fence
      AND status = 'running'
      AND NOT is_released
    RETURNING id, tenant_id, round
)
UPDATE runtime_toolstep AS tool
SET state = :state,
    result = :result,
    is_error = :is_error,
    finished_at = statement_timestamp()
FROM held_turn
WHERE tool.tenant_id = held_turn.tenant_id
  AND tool.turn_id = held_turn.id
  AND tool.round = held_turn.round
  AND tool.step = :step
  AND tool.position = :position
  AND tool.state = 'started'
RETURNING tool.id
