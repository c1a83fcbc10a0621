-- Reads what a turn may still take from the tenant's budget of the day.
--
-- Called by: run_turn_now (apps/runtime/turns/run_now.py)
-- Runs as: worker
-- One statement: the settings and the spend of the day are one snapshot.
-- Locks: none
-- Parameters:
--   :turn  bigint  the turn
-- Returns: one row: the rest of the budget in micro-dollars, null where the tenant has no budget of the day

SELECT
    -- include: apps/runtime/turn_store/queries/fragments/day_budget_left.sql
    AS budget_left
FROM runtime_turn AS turn
WHERE turn.tenant_id = app_tenant() AND turn.id = :turn
