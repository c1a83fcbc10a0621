"""Figures of the whole installation: counts and ages, and no row of anybody's."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

FIGURES = """
GRANT SELECT (calls, learning_calls, input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens,
    cache_write_1h_tokens, learning_input_tokens, learning_output_tokens) ON runtime_spend TO @crossing@;
GRANT SELECT (state) ON runtime_breaker TO @crossing@;
GRANT SELECT (status, tenant_id) ON notices_notice TO @crossing@;
CREATE POLICY notices_notice_crossing ON notices_notice FOR SELECT TO @crossing@ USING (true);
CREATE FUNCTION installation_figures() RETURNS TABLE (name text, label text, tenant_key text, value double precision)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    asked text;
BEGIN
    FOR asked IN SELECT substr(proc.proname, 8) FROM pg_proc AS proc
        WHERE proc.pronamespace = 'public'::regnamespace AND starts_with(proc.proname, 'due_of_') ORDER BY 1
    LOOP
        RETURN QUERY EXECUTE format('
            WITH due AS (
                SELECT coalesce(tenant.key, '''') AS key, count(*)::float8 AS rows,
                       coalesce(extract(epoch FROM now() - min(nullif(found.since, ''-infinity''))), 0)::float8 AS seconds
                  FROM %I() AS found LEFT JOIN tenants_tenant AS tenant ON tenant.id = found.tenant_id GROUP BY 1
            )
            SELECT ''waiting'', $1, due.key::text, due.rows FROM due
             UNION ALL SELECT ''waiting_oldest_seconds'', $1, due.key::text, greatest(due.seconds, 0) FROM due',
            'due_of_' || asked) USING asked;
    END LOOP;
    RETURN QUERY
        SELECT counted.name, counted.label, tenant.key::text, counted.value FROM (
            SELECT 'deliveries' AS name, delivery.status::text AS label, delivery.tenant_id, count(*)::float8 AS value
              FROM webhooks_delivery AS delivery WHERE delivery.status <> 'delivered' GROUP BY 2, 3
             UNION ALL
            SELECT 'notices', notice.status::text, notice.tenant_id, count(*)
              FROM notices_notice AS notice WHERE notice.status IN ('waiting', 'dead') GROUP BY 2, 3
             UNION ALL
            SELECT 'turns_held', turn.status::text, turn.tenant_id, count(*)
              FROM runtime_turn AS turn WHERE turn.finished_at IS NULL GROUP BY 2, 3
             UNION ALL
            SELECT 'review_open', 'proposal', waits.tenant_id, count(*)
              FROM governance_proposal AS waits WHERE waits.state = 'open' GROUP BY 3
             UNION ALL
            SELECT 'review_open', 'draft', waits.tenant_id, count(*)
              FROM desk_draft AS waits WHERE waits.status = 'open' GROUP BY 3
             UNION ALL
            SELECT 'review_open', 'escalation', waits.tenant_id, count(*)
              FROM desk_escalation AS waits WHERE waits.status = 'open' GROUP BY 3
             UNION ALL
            SELECT spent.name, spent.label, day.tenant_id, sum(spent.value)
              FROM runtime_spend AS day CROSS JOIN LATERAL (VALUES
                ('spent_calls_total', 'turns', day.calls::float8), ('spent_calls_total', 'learning', day.learning_calls),
                ('spent_micro_usd_total', 'turns', day.cost_micro_usd),
                ('spent_micro_usd_total', 'learning', day.learning_cost_micro_usd),
                ('spent_tokens_total', 'input', day.input_tokens), ('spent_tokens_total', 'output', day.output_tokens),
                ('spent_tokens_total', 'cache_read', day.cache_read_tokens),
                ('spent_tokens_total', 'cache_write_5m', day.cache_write_5m_tokens),
                ('spent_tokens_total', 'cache_write_1h', day.cache_write_1h_tokens),
                ('spent_tokens_total', 'learning_input', day.learning_input_tokens),
                ('spent_tokens_total', 'learning_output', day.learning_output_tokens)
              ) AS spent (name, label, value) GROUP BY 1, 2, 3
        ) AS counted JOIN tenants_tenant AS tenant ON tenant.id = counted.tenant_id
         UNION ALL
        SELECT 'breakers', breaker.state::text, '', count(*)::float8 FROM runtime_breaker AS breaker GROUP BY 2;
END $$;
REVOKE ALL ON FUNCTION installation_figures() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION installation_figures() TO @login@;
ALTER FUNCTION installation_figures() OWNER TO @crossing@
"""


class Migration(migrations.Migration):
    """One function, and the columns it counts."""

    dependencies: ClassVar = [
        ("runtime", "0022_lean_journal"),
        ("governance", "0015_told_of_reviews"),
        ("webhooks", "0008_reviews"),
        ("notices", "0003_reviews_are_told"),
    ]
    operations: ClassVar = [
        RoleSQL(FIGURES),
    ]
