-- Notes the session that a turn runs in. A resumed turn keeps it.
--
-- Called by: enter_session (apps/runtime/turn_store/turn_journal.py)
-- Runs as: worker
-- One statement: the fence is checked by the statement that writes.
-- Locks: the turn's row
-- Parameters:
--   :turn     bigint   the turn
--   :fence    integer  the fence that its worker holds
--   :session  bigint   the session
-- Returns: the turn's id; no row if the worker was overtaken

UPDATE runtime_turn
SET session_id = :session
WHERE tenant_id = app_tenant()
  AND id = :turn
  AND fence = :fence
  AND status = 'running'
  AND NOT is_released
RETURNING id
