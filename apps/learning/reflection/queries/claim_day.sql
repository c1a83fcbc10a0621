-- Claims an agent's day for one reflection.
--
-- Called by: claim_day (apps/learning/reflection/reflection_runs.py)
-- Runs as: worker
-- One statement: of two workers one gets the row.
-- Locks: the day's row
-- Parameters:
--   :agent  bigint   the agent
--   :day    date     the day by the tenant's clock
--   :lease  integer  seconds that the reflection may take
-- Returns: no row if the day is settled, another worker has it, or its next attempt is not due, else one row:
--   id        bigint   the day's row
--   failures  integer  how often the model failed over it

INSERT INTO learning_reflection AS held (
    tenant_id, agent_id, day, verdict, reason, conversation_ids, skill_ids, model, is_stand_in, input_tokens, output_tokens,
    created_at, lease_until, next_attempt_at, failures
)
VALUES (
    app_tenant(), :agent, :day, 'waiting', '', '[]', '[]', '', false, 0, 0,
    statement_timestamp(), statement_timestamp() + :lease * interval '1 second', statement_timestamp(), 0
)
ON CONFLICT (tenant_id, agent_id, day) DO UPDATE
SET lease_until = excluded.lease_until
WHERE held.verdict = 'waiting'
  AND greatest(held.lease_until, held.next_attempt_at) <= statement_timestamp()
RETURNING id, failures
