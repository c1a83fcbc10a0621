-- What a turn may still take from the tenant's budget of the day, in micro-dollars; null where the tenant has no such budget. Calls
-- that the same statement writes are not counted yet.
--
-- A call of the day's mean price is held back for each older turn that is being answered, so that many turns at once do not spend
-- together what each found left alone. The oldest turn goes on with what there is, and no turn waits for a younger one.
--
-- Included as a scalar where there is a row `turn` (id, tenant_id).
(
    SELECT CASE WHEN settings.day_budget_micro_usd IS NOT NULL THEN settings.day_budget_micro_usd - (
        SELECT coalesce(sum(spend.cost_micro_usd + spend.learning_cost_micro_usd), 0)
            + coalesce(
                (
                    SELECT count(*)
                    FROM runtime_turn AS older
                    WHERE older.tenant_id = settings.tenant_id
                      AND older.status = 'running'
                      AND NOT older.is_released
                      AND older.lease_until > statement_timestamp()
                      AND older.id < turn.id
                ) * sum(spend.cost_micro_usd) / nullif(sum(spend.calls - spend.unpriced_calls), 0),
                0
            )
        FROM runtime_spend AS spend
        WHERE spend.tenant_id = settings.tenant_id AND spend.day = get_tenant_today(settings.tenant_id)
    )::bigint END
    FROM tenants_tenantsettings AS settings
    WHERE settings.tenant_id = turn.tenant_id
)
