-- The latest model calls of the hour, in any conversation, whose prompts begin with the same bytes: `with_agent_prefix` as far as the
-- end of what all customers of the agent share, `with_workspace_prefix` as far as the end of what all agents share.
-- Included in a JSON object where there is a relation `prefix` (agent_prefix_sha256, workspace_prefix_sha256) of one row.
--
-- Parameters:
--   :tenant        bigint   the tenant whose calls are read
--   :others_calls  integer  calls to read of each kind
'with_agent_prefix', (
    SELECT json_agg(trace)
    FROM (
        SELECT
            -- include: apps/runtime/turn_store/queries/fragments/cache_trace.sql
            AS trace
        FROM runtime_modelcall AS call
        JOIN runtime_turn AS turn ON turn.tenant_id = call.tenant_id AND turn.id = call.turn_id
        WHERE call.tenant_id = :tenant
          AND call.agent_prefix_sha256 = (SELECT agent_prefix_sha256 FROM prefix)
          AND call.requested_at > statement_timestamp() - interval '1 hour'
        ORDER BY call.requested_at DESC
        LIMIT :others_calls
    ) AS recent_call
),
'with_workspace_prefix', (
    SELECT json_agg(trace)
    FROM (
        SELECT
            -- include: apps/runtime/turn_store/queries/fragments/cache_trace.sql
            AS trace
        FROM runtime_modelcall AS call
        JOIN runtime_turn AS turn ON turn.tenant_id = call.tenant_id AND turn.id = call.turn_id
        WHERE call.tenant_id = :tenant
          AND call.workspace_prefix_sha256 = (SELECT workspace_prefix_sha256 FROM prefix)
          AND call.requested_at > statement_timestamp() - interval '1 hour'
        ORDER BY call.requested_at DESC
        LIMIT :others_calls
    ) AS recent_call
)
