-- Locks a turn that the worker still holds, at the beginning of a transaction of several statements.
--
-- Called by: lock_turn (apps/runtime/turn_store/turn_journal.py)
-- Runs as: worker
-- One statement: the fence is checked by the statement that locks.
-- Locks: the turn's row, until the transaction ends
-- Parameters:
--   :turn   bigint   the turn
--   :fence  integer  the fence that its worker holds
-- Returns: the turn's id; no row if the worker was overtaken

SELECT id
FROM runtime_turn
WHERE tenant_id = app_tenant()
  AND id = :turn
  AND fence = :fence
  AND status = 'running'
  AND NOT is_released
FOR NO KEY UPDATE
