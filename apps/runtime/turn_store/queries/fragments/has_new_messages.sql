-- Whether messages arrived for which the turn may begin anew: it has done nothing yet that cannot be done again.
-- Included as a condition on a row `turn` (id, tenant_id, conversation_id, round).
--
-- Parameters:
--   :restarts  integer  how often a turn may begin anew, 0 for never
turn.round <= :restarts
AND EXISTS (
    SELECT 1
    FROM conversations_inboundevent AS event
    WHERE event.tenant_id = turn.tenant_id
      AND event.conversation_id = turn.conversation_id
      AND event.turn_id IS NULL
)
AND NOT EXISTS (
    SELECT 1
    FROM runtime_toolstep AS tool
    WHERE tool.tenant_id = turn.tenant_id
      AND tool.turn_id = turn.id
      AND tool.round = turn.round
      AND tool.repeat_safety <> 'read_only'
)
