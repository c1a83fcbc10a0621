"""How much of each kind of work waits in the tenant at hand, for a page that people read."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

# The same looks that wake the workers; `held` where the tenant's money of the day is kept for customers' replies.
WAITING_WORK = """
CREATE FUNCTION waiting_work(kinds text[]) RETURNS TABLE (kind text, waiting bigint, since timestamptz, held boolean)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DECLARE
        asked text;
        waits boolean := EXISTS (SELECT 1 FROM tenants_tenantsettings AS settings
            WHERE settings.tenant_id = app_tenant() AND settings.day_budget_micro_usd IS NOT NULL
                AND learning_waits(settings.tenant_id));
    BEGIN
        FOREACH asked IN ARRAY kinds LOOP
            RETURN QUERY EXECUTE format('
                SELECT $1, count(*), min(nullif(due.since, ''-infinity'')), $2
                    FROM %I() AS due WHERE due.tenant_id = app_tenant()', 'due_of_' || asked)
                USING asked, waits AND asked IN ('extraction', 'reflection', 'digest', 'distillation');
        END LOOP;
    END
$$;
REVOKE ALL ON FUNCTION waiting_work(text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION waiting_work(text[]) TO @operator@, @staff@;
ALTER FUNCTION waiting_work(text[]) OWNER TO @crossing@
"""


class Migration(migrations.Migration):
    """One function."""

    dependencies: ClassVar = [
        ("learning", "0032_rejected_versions_come_due"),
        ("notices", "0001_tables"),
    ]
    operations: ClassVar = [RoleSQL(WAITING_WORK)]
