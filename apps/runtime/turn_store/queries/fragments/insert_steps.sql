-- Writes model calls and tool calls into the journal, and counts the calls in the day's spend of their agent. Without calls the
-- day's row is left alone.
-- Included as a list of CTEs behind `held_turn` (id, tenant_id, fence, round, conversation_id); no row of it, nothing is written.
--
-- Parameters:
--   :calls  jsonb  model calls, a list of objects with the columns of runtime_modelcall
--   :tools  jsonb  tool calls, a list of objects with the columns of runtime_toolstep
new_call AS (
    INSERT INTO runtime_modelcall (
        tenant_id, turn_id, fence, round, step, user_turn, assistant_message, text, model, is_stand_in, stop_reason,
        input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, cost_micro_usd,
        requested_at, agent_prefix_sha256, workspace_prefix_sha256, expected_read_tokens, has_unexpected_miss,
        cache_entries, cache_ledger, created_at
    )
    SELECT
        held_turn.tenant_id, held_turn.id, held_turn.fence, held_turn.round,
        call.step, call.user_turn, call.assistant_message, call.text, call.model, call.is_stand_in, call.stop_reason,
        call.input_tokens, call.output_tokens, call.cache_read_tokens, call.cache_write_5m_tokens, call.cache_write_1h_tokens,
        call.cost_micro_usd, call.requested_at, call.agent_prefix_sha256, call.workspace_prefix_sha256,
        call.expected_read_tokens, call.has_unexpected_miss, call.cache_entries, call.cache_ledger, statement_timestamp()
    FROM held_turn, jsonb_populate_recordset(NULL::runtime_modelcall, :calls::jsonb) AS call
    RETURNING id
), new_tool_call AS (
    INSERT INTO runtime_toolstep (
        tenant_id, turn_id, fence, round, step, position, call_id, name, arguments, repeat_safety, state, result, is_error,
        started_at, finished_at
    )
    SELECT
        held_turn.tenant_id, held_turn.id, held_turn.fence, held_turn.round,
        tool.step, tool.position, tool.call_id, tool.name, tool.arguments, tool.repeat_safety, tool.state, tool.result,
        tool.is_error, statement_timestamp(), CASE WHEN tool.state <> 'started' THEN statement_timestamp() END
    FROM held_turn, jsonb_populate_recordset(NULL::runtime_toolstep, :tools::jsonb) AS tool
    RETURNING id
), day_spend AS (
    INSERT INTO runtime_spend AS spend (
        tenant_id, agent_id, day, calls, unpriced_calls, cost_micro_usd,
        input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens
    )
    SELECT
        held_turn.tenant_id, thread.agent_id, get_tenant_today(held_turn.tenant_id), count(*),
        count(*) - count(call.cost_micro_usd), coalesce(sum(call.cost_micro_usd), 0),
        sum(call.input_tokens), sum(call.output_tokens), sum(call.cache_read_tokens), sum(call.cache_write_5m_tokens),
        sum(call.cache_write_1h_tokens)
    FROM held_turn
    JOIN conversations_conversation AS thread
      ON thread.tenant_id = held_turn.tenant_id AND thread.id = held_turn.conversation_id,
        jsonb_populate_recordset(NULL::runtime_modelcall, :calls::jsonb) AS call
    GROUP BY held_turn.tenant_id, thread.agent_id
    ON CONFLICT (tenant_id, agent_id, day) DO UPDATE
    SET calls = spend.calls + excluded.calls,
        unpriced_calls = spend.unpriced_calls + excluded.unpriced_calls,
        cost_micro_usd = spend.cost_micro_usd + excluded.cost_micro_usd,
        input_tokens = spend.input_tokens + excluded.input_tokens,
        output_tokens = spend.output_tokens + excluded.output_tokens,
        cache_read_tokens = spend.cache_read_tokens + excluded.cache_read_tokens,
        cache_write_5m_tokens = spend.cache_write_5m_tokens + excluded.cache_write_5m_tokens,
        cache_write_1h_tokens = spend.cache_write_1h_tokens + excluded.cache_write_1h_tokens
)
