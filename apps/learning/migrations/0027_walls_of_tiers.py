"""The walls around clocks and runs of the distiller, and the look for agents with a tier that is due."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, DueWork, RaiseWall, RoleSQL, Wall

CLOCKS = Wall(
    operator="SELECT, INSERT, UPDATE (next_run_at, asked_by)",
    worker="SELECT, INSERT, UPDATE (next_run_at, lease_until, failures, asked_by)",
    agent="",
    crossing="SELECT (id, tenant_id, agent_id, tier, next_run_at, lease_until, asked_by)",
    versioned=False,
)
RUNS = Wall(operator="SELECT", worker="SELECT, INSERT", agent="", versioned=False, append_only=True)
SEEN_ACROSS_TENANTS = "GRANT SELECT (id, tenant_id, learns, distils, updated_at) ON tenants_agent TO @crossing@"
# An agent whose memory begins to be distilled gets its clocks first. What a person asks for needs no switch.
DUE = """
    SELECT agent.tenant_id, agent.id, min(coalesce(clock.next_run_at, agent.updated_at)) FROM tenants_agent AS agent
        LEFT JOIN learning_tierclock AS clock ON clock.tenant_id = agent.tenant_id AND clock.agent_id = agent.id
        WHERE agent.learns AND (agent.distils AND clock.id IS NULL OR (agent.distils OR clock.asked_by <> '')
            AND clock.next_run_at <= statement_timestamp() AND clock.lease_until <= statement_timestamp())
        GROUP BY agent.tenant_id, agent.id
"""


class Migration(migrations.Migration):
    """Row security, grants, composite keys and one function."""

    dependencies: ClassVar = [
        ("learning", "0026_tiers"),
        ("tenants", "0034_tiers"),
    ]
    operations: ClassVar = [
        RaiseWall("learning_tierclock", CLOCKS),
        RaiseWall("learning_tierrun", RUNS),
        ComposeForeignKey("learning_tierclock", "agent_id", "tenants_agent"),
        ComposeForeignKey("learning_tierrun", "agent_id", "tenants_agent"),
        RoleSQL(SEEN_ACROSS_TENANTS),
        DueWork("distillation", DUE),
    ]
