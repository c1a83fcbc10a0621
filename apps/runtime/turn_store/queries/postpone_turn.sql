-- Lets go of a turn until its next attempt is due. A sweep finds it then.
--
-- Called by: postpone (apps/runtime/turn_store/turn_journal.py)
-- Runs as: worker
-- One statement: the fence is checked by the statement that writes.
-- Locks: the turn's row
-- Parameters:
--   :turn          bigint    the turn
--   :fence         integer   the fence that its worker holds
--   :delay         interval  how long from now until the next attempt
--   :failed_calls  integer   model calls that failed in a row
--   :code          text      why the turn waits, as a code
--   :failure       text      why the turn waits, in a sentence
-- Returns: the turn's id; no row if the worker was overtaken

UPDATE runtime_turn
SET run_at = statement_timestamp() + :delay::interval,
    lease_until = statement_timestamp(),
    is_released = true,
    failed_calls = :failed_calls,
    failure_code = :code,
    failure = :failure
WHERE tenant_id = app_tenant()
  AND id = :turn
  AND fence = :fence
  AND status = 'running'
  AND NOT is_released
RETURNING id
