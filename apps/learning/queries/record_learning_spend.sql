-- Counts one model call of an agent's learning in the agent's spend of the day. Turns write the other columns of that row.
--
-- Called by: record_learning_spend (apps/learning/model_spend.py)
-- Runs as: worker
-- One statement: calls that end at the same moment are all counted.
-- Locks: the day's spend of the agent
-- Parameters:
--   :agent   bigint   the agent
--   :cost    bigint   the call's cost in micro-dollars, null for a model without a price
--   :input   integer  its input tokens
--   :output  integer  its output tokens
-- Returns: nothing

INSERT INTO runtime_spend AS spend (
    tenant_id, agent_id, day, calls, unpriced_calls, cost_micro_usd,
    input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens,
    learning_calls, learning_unpriced_calls, learning_cost_micro_usd, learning_input_tokens, learning_output_tokens
)
VALUES (
    app_tenant(), :agent, get_tenant_today(app_tenant()), 0, 0, 0,
    0, 0, 0, 0, 0,
    1, (:cost::bigint IS NULL)::integer, coalesce(:cost::bigint, 0), :input, :output
)
ON CONFLICT (tenant_id, agent_id, day) DO UPDATE
SET learning_calls = spend.learning_calls + 1,
    learning_unpriced_calls = spend.learning_unpriced_calls + excluded.learning_unpriced_calls,
    learning_cost_micro_usd = spend.learning_cost_micro_usd + excluded.learning_cost_micro_usd,
    learning_input_tokens = spend.learning_input_tokens + excluded.learning_input_tokens,
    learning_output_tokens = spend.learning_output_tokens + excluded.learning_output_tokens
