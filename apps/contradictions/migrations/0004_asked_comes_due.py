"""What people ask for comes due at once."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import DueWork, RoleSQL

ASKED = """
GRANT UPDATE (asked_at) ON contradictions_contradictionlook TO @worker@;
GRANT SELECT (asked_at) ON contradictions_contradictionlook TO @crossing@
"""
# From three in the morning on by the tenant's clock, as `rules.night_of` says it; and whenever a person asked.
OF_LOOKS = """
    SELECT agent.tenant_id, agent.id, (tonight.day + time '03:00') AT TIME ZONE tonight.zone FROM (
        SELECT settings.tenant_id, settings.timezone AS zone,
               (statement_timestamp() AT TIME ZONE settings.timezone - interval '3 hours')::date AS day
            FROM tenants_tenantsettings AS settings
    ) AS tonight JOIN tenants_agent AS agent ON agent.tenant_id = tonight.tenant_id
        WHERE NOT EXISTS (
            SELECT 1 FROM contradictions_contradictionlook AS held WHERE held.tenant_id = agent.tenant_id
                AND held.agent_id = agent.id AND (held.lease_until > statement_timestamp()
                    OR (held.night >= tonight.day AND held.asked_at IS NULL)))
"""


class Migration(migrations.Migration):
    """Grants and one function anew."""

    dependencies: ClassVar = [
        ("contradictions", "0003_asked"),
    ]
    operations: ClassVar = [
        RoleSQL(ASKED),
        DueWork("contradiction", OF_LOOKS),
    ]
