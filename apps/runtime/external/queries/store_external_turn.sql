-- Keeps what an external agent was handed. It is handed the same again when it asks once more, until the turn ends.
--
-- Called by: _set_up_external_turn (apps/runtime/external/turn_handout.py)
-- Runs as: worker
-- One statement: the fence is checked by the statement that writes.
-- Locks: the turn's row
-- Parameters:
--   :turn                bigint   the turn
--   :fence               integer  the fence that its worker holds
--   :session             bigint   the session
--   :external_user_turn  jsonb    the user turn as it was handed out, with the owners of its bytes
-- Returns: the turn's id; no row if the worker was overtaken

UPDATE runtime_turn
SET session_id = :session,
    external_user_turn = :external_user_turn::jsonb
WHERE tenant_id = app_tenant()
  AND id = :turn
  AND fence = :fence
  AND status = 'running'
  AND NOT is_released
RETURNING id
