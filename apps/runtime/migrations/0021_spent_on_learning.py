"""What learning costs is counted in the day's row, too, in columns of its own; it leaves the last fifth of a budget to customers."""

from typing import ClassVar

from django.db import migrations, models

from apps.governance.database import RoleSQL

COUNTED = (
    ("learning_calls", models.PositiveIntegerField(db_default=0)),
    ("learning_unpriced", models.PositiveIntegerField(db_default=0)),
    ("learning_cost_micro_usd", models.PositiveBigIntegerField(db_default=0)),
    ("learning_input_tokens", models.PositiveBigIntegerField(db_default=0)),
    ("learning_output_tokens", models.PositiveBigIntegerField(db_default=0)),
)
# Asked with the rights of whoever asks: a worker sees its own tenant's money, the look for due work everybody's.
WAITS = """
CREATE FUNCTION learning_waits(of_tenant bigint) RETURNS boolean LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT EXISTS (
        SELECT 1 FROM tenants_tenantsettings AS settings WHERE settings.tenant_id = of_tenant
            AND settings.day_budget_micro_usd IS NOT NULL AND settings.day_budget_micro_usd * 4 / 5 <= (
                SELECT coalesce(sum(spend.cost_micro_usd + spend.learning_cost_micro_usd), 0) FROM runtime_spend AS spend
                    WHERE spend.tenant_id = of_tenant AND spend.day = tenant_day(of_tenant)))
$$;
REVOKE ALL ON FUNCTION learning_waits(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION learning_waits(bigint) TO @worker@, @crossing@;
GRANT EXECUTE ON FUNCTION tenant_day(bigint) TO @crossing@;
GRANT SELECT (tenant_id, day, cost_micro_usd, learning_cost_micro_usd) ON runtime_spend TO @crossing@;
CREATE POLICY runtime_spend_crossing ON runtime_spend TO @crossing@ USING (true) WITH CHECK (true);
GRANT SELECT (day_budget_micro_usd) ON tenants_tenantsettings TO @crossing@
"""


class Migration(migrations.Migration):
    """Five columns, and one question about them."""

    dependencies: ClassVar = [
        ("runtime", "0020_who_was_told"),
    ]
    operations: ClassVar = [
        *(migrations.AddField(model_name="spend", name=name, field=column) for name, column in COUNTED),
        RoleSQL(WAITS),
    ]
