-- Finds those of a worker's turns that should begin anew while their model is thinking: a message arrived that is due by now.
--
-- Called by: turns_to_restart (apps/runtime/turn_store/turn_journal.py)
-- Runs as: worker
-- One statement: one look for all turns of a tenant.
-- Locks: nothing
-- Parameters:
--   :turns     bigint[]   the turns
--   :fences    integer[]  the fence that the worker holds of each, in the same order
--   :restarts  integer    how often a turn may begin anew, 0 for never
-- Returns: the ids of those turns

SELECT turn.id
FROM runtime_turn AS turn
JOIN unnest(:turns::bigint[], :fences::integer[]) AS held (id, fence) ON turn.id = held.id AND turn.fence = held.fence
WHERE turn.tenant_id = app_tenant()
  AND turn.status = 'running'
  AND
  -- include: apps/runtime/turn_store/queries/fragments/has_new_messages.sql
  AND EXISTS (
      SELECT 1
      FROM conversations_inboundevent AS event
      WHERE event.tenant_id = turn.tenant_id
        AND event.conversation_id = turn.conversation_id
        AND event.turn_id IS NULL
        AND event.due_at <= statement_timestamp()
  )
