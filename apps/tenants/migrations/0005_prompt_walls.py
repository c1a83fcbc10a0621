"""The wall around who may ask whom, and which new columns people may change."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, RaiseWall, RoleSQL, Wall

# The row of the other agent stays invisible to the one who may ask it; its key and title are read by the system.
INVOKABLES = Wall(
    operator="SELECT, INSERT, DELETE, UPDATE (role_hint)",
    agent_rows="agent_id = app_agent()",
)
COLUMNS = """
GRANT UPDATE (timezone, ai_disclosure, slot_order) ON tenants_tenantsettings TO @operator@;
GRANT UPDATE (flavour, context_tier, skill_index, tells_time, max_session_age_seconds) ON tenants_agent TO @operator@
"""


class Migration(migrations.Migration):
    """Row security, grants, triggers and composite keys."""

    dependencies: ClassVar = [
        ("tenants", "0004_prompt_choices"),
    ]
    operations: ClassVar = [
        RaiseWall("tenants_invokableagent", INVOKABLES),
        ComposeForeignKey("tenants_invokableagent", "agent_id", "tenants_agent"),
        ComposeForeignKey("tenants_invokableagent", "callee_id", "tenants_agent"),
        RoleSQL(COLUMNS),
    ]
