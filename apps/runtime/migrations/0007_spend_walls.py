"""What was spent is counted behind a wall of its own: workers count, people read, and agents know nothing of it."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, ComposeKey, RaiseWall, RoleSQL, Wall

SPEND = Wall(operator="SELECT", worker="SELECT, INSERT, UPDATE", agent="", versioned=False)
# A zone that the database does not know must not keep a turn from being written; it counts by UTC then.
DAY = """
CREATE FUNCTION tenant_day(of_tenant bigint) RETURNS date LANGUAGE plpgsql STABLE SET search_path = public, pg_temp AS $$
DECLARE zone text;
BEGIN
    SELECT settings.timezone INTO zone FROM tenants_tenantsettings AS settings WHERE settings.tenant_id = of_tenant;
    RETURN (statement_timestamp() AT TIME ZONE zone)::date;
EXCEPTION WHEN invalid_parameter_value THEN
    RETURN (statement_timestamp() AT TIME ZONE 'UTC')::date;
END $$;
REVOKE ALL ON FUNCTION tenant_day(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tenant_day(bigint) TO @worker@, @operator@;
ALTER TABLE runtime_spend SET (fillfactor = 50)
"""


class Migration(migrations.Migration):
    """Row security, grants and the tenant's day."""

    dependencies: ClassVar = [
        ("runtime", "0006_spend"),
        ("tenants", "0022_budgets"),
    ]
    operations: ClassVar = [
        RaiseWall("runtime_spend", SPEND),
        ComposeKey("runtime_spend"),
        ComposeForeignKey("runtime_spend", "agent_id", "tenants_agent"),
        RoleSQL(DAY),
    ]
