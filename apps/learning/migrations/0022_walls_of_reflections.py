"""The wall around reflections, and a look for agents whose day is over."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, DueWork, RaiseWall, RoleSQL, Wall

REFLECTIONS = Wall(
    operator="SELECT",
    worker="""SELECT, INSERT, UPDATE (verdict, reason, conversations, skills, model, stand_in, input_tokens, output_tokens,
    lease_until, next_look_at, failures)""",
    agent="",
    crossing="SELECT (id, tenant_id, agent_id, day, verdict, lease_until, next_look_at)",
    versioned=False,
    extra=(
        """CREATE POLICY learning_reflection_settled_once ON learning_reflection AS RESTRICTIVE FOR UPDATE TO @worker@
    USING (verdict = 'waiting') WITH CHECK (true)""",
    ),
)
# At eleven in the evening by the tenant's clock, as `rules.day_to_reflect_on` says it; what was missed is made up for.
OF_REFLECTIONS = """
    SELECT agent.tenant_id, agent.id, (today.day + time '23:00') AT TIME ZONE today.zone FROM (
        SELECT settings.tenant_id, settings.timezone AS zone,
               (statement_timestamp() AT TIME ZONE settings.timezone - interval '23 hours')::date AS day
            FROM tenants_tenantsettings AS settings
    ) AS today JOIN tenants_agent AS agent ON agent.tenant_id = today.tenant_id
        WHERE agent.learns AND agent.reflects AND NOT EXISTS (
            SELECT 1 FROM learning_reflection AS known WHERE known.tenant_id = agent.tenant_id
                AND known.agent_id = agent.id AND known.day = today.day AND (
                    known.verdict <> 'waiting' OR greatest(known.lease_until, known.next_look_at) > statement_timestamp()))
        AND NOT EXISTS (
            SELECT 1 FROM switches_switch AS switch WHERE switch.tenant_id = agent.tenant_id AND switch.status = 'on'
                AND switch.kind = 'freeze-learning' AND (switch.agent_id IS NULL OR switch.agent_id = agent.id)
                AND switch.channel = '')
"""
SEEN_ACROSS_TENANTS = """
GRANT SELECT (learns, reflects) ON tenants_agent TO @crossing@;
GRANT SELECT (tenant_id, timezone) ON tenants_tenantsettings TO @crossing@;
CREATE POLICY tenants_tenantsettings_crossing ON tenants_tenantsettings TO @crossing@ USING (true) WITH CHECK (true)
"""


class Migration(migrations.Migration):
    """Row security, grants, a composite key and one function."""

    dependencies: ClassVar = [
        ("learning", "0021_reflections"),
        ("tenants", "0030_reflects"),
    ]
    operations: ClassVar = [
        RaiseWall("learning_reflection", REFLECTIONS),
        ComposeForeignKey("learning_reflection", "agent_id", "tenants_agent"),
        RoleSQL(SEEN_ACROSS_TENANTS),
        DueWork("reflection", OF_REFLECTIONS),
    ]
