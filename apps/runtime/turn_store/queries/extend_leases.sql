-- Extends the leases of a worker's turns: the worker's heartbeat.
--
-- Called by: extend_leases (apps/runtime/turn_store/turn_journal.py)
-- Runs as: worker
-- One statement: one for all turns of a tenant, at each beat.
-- Locks: the turns' rows
-- Parameters:
--   :turns   bigint[]   the turns
--   :fences  integer[]  the fence that the worker holds of each, in the same order
--   :lease   interval   how long each lease lasts from now
--   :stops   text[]     kinds of kill switch under which nothing is answered
-- Returns: a row for each turn that the worker still holds:
--   id         bigint   the turn
--   may_go_on  boolean  false where an operator stopped its conversation

UPDATE runtime_turn AS turn
SET lease_until = statement_timestamp() + :lease::interval
FROM unnest(:turns::bigint[], :fences::integer[]) AS held (id, fence)
WHERE turn.tenant_id = app_tenant()
  AND turn.id = held.id
  AND turn.fence = held.fence
  AND turn.status = 'running'
  AND NOT turn.is_released
RETURNING turn.id, NOT is_conversation_stopped(:stops, turn.tenant_id, turn.conversation_id) AS may_go_on
