-- Halves the history that the turn replays from its next call on: the model had no room for all of it.
--
-- Called by: shorten_history (apps/runtime/turns/interruptions.py)
-- Runs as: worker
-- One statement: the fence is checked by the statement that writes.
-- Locks: the turn's row
-- Parameters:
--   :turn   bigint   the turn
--   :fence  integer  the fence that its worker holds
-- Returns: the turn's id; no row if the worker was overtaken

UPDATE runtime_turn
SET history_halvings = history_halvings + 1
WHERE tenant_id = app_tenant()
  AND id = :turn
  AND fence = :fence
  AND status = 'running'
  AND NOT is_released
RETURNING id
