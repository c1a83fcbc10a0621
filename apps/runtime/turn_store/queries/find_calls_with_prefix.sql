-- Reads what other conversations left in the prompt cache, for a turn whose prompt is not that of the conversation's call before.
--
-- Called by: find_earlier_calls (apps/runtime/turn_store/cached_prefixes.py)
-- Runs as: worker
-- One statement: both kinds in one round trip, before the turn's first model call.
-- Locks: nothing
-- Parameters:
--   :tenant        bigint   the tenant whose calls are read
--   :agent_prefix_sha256        text     sha256 of the prompt as far as the end of the agent's part
--   :workspace_prefix_sha256     text     sha256 of the prompt as far as the end of the tenant's part
--   :others_calls  integer  calls to read of each kind
-- Returns: one row with one JSON object, as text: `with_agent_prefix` and `with_workspace_prefix`, lists of traces or null

WITH prefix AS NOT MATERIALIZED (
    SELECT :agent_prefix_sha256::text AS agent_prefix_sha256, :workspace_prefix_sha256::text AS workspace_prefix_sha256
)
SELECT json_build_object(
    -- include: apps/runtime/turn_store/queries/fragments/calls_with_prefix.sql
)::text
