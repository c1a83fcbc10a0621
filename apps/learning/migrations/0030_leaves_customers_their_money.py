"""Where little is left of a tenant's day, what asks a model to learn is not due: customers' replies come first."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

# As before but for tenants whose learning waits, who are found once and only where it matters.
DUE_WORK = """
SET LOCAL ROLE @crossing@;
CREATE OR REPLACE FUNCTION due_work(batch integer, kinds text[]) RETURNS TABLE (kind text, tenant_id bigint, row_id bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DECLARE
        asked text;
        waits bigint[] := '{}';
    BEGIN
        IF kinds && ARRAY['extraction', 'reflection', 'digest', 'distillation'] THEN
            waits := ARRAY(SELECT settings.tenant_id FROM tenants_tenantsettings AS settings
                WHERE settings.day_budget_micro_usd IS NOT NULL AND learning_waits(settings.tenant_id));
        END IF;
        FOREACH asked IN ARRAY kinds LOOP
            RETURN QUERY EXECUTE format('
                SELECT $2, ranked.tenant_id, ranked.row_id FROM (
                    -- One tenant''s thousand must not keep another''s one waiting.
                    SELECT due.*, row_number() OVER (PARTITION BY due.tenant_id ORDER BY due.since, due.row_id) AS place
                        FROM %I() AS due WHERE due.tenant_id <> ALL ($3)
                ) AS ranked ORDER BY ranked.place, ranked.since, ranked.row_id LIMIT $1', 'due_of_' || asked)
                USING batch, asked,
                    CASE WHEN asked IN ('extraction', 'reflection', 'digest', 'distillation') THEN waits ELSE '{}' END;
        END LOOP;
    END
$$;
RESET ROLE
"""


class Migration(migrations.Migration):
    """One function anew."""

    dependencies: ClassVar = [
        ("learning", "0029_costs"),
        ("runtime", "0021_spent_on_learning"),
    ]
    operations: ClassVar = [RoleSQL(DUE_WORK)]
