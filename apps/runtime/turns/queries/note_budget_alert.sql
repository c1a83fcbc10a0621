-- Notes that a person was asked about the spent budget of the day, once a day for each agent.
--
-- Called by: wait_for_budget (apps/runtime/turns/turn_completion.py)
-- Runs as: worker
-- One statement: of several turns that find the budget spent, exactly one gets the row, and asks.
-- Locks: the day's spend of the agent
-- Parameters:
--   :agent  bigint  the agent
-- Returns: the id of the day's row; no row where a person was asked already

INSERT INTO runtime_spend AS spend (
    tenant_id, agent_id, day, budget_escalated_at, calls, unpriced_calls, cost_micro_usd,
    input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens
)
VALUES (app_tenant(), :agent, get_tenant_today(app_tenant()), statement_timestamp(), 0, 0, 0, 0, 0, 0, 0, 0)
ON CONFLICT (tenant_id, agent_id, day) DO UPDATE
SET budget_escalated_at = excluded.budget_escalated_at
WHERE spend.budget_escalated_at IS NULL
RETURNING id
