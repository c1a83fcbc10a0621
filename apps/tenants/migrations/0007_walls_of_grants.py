"""The wall around grants by agent: people write what the door lets them, an agent reads what is said of itself."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, ComposeKey, RaiseWall, Wall


class Migration(migrations.Migration):
    """Row security, grants and composite keys."""

    dependencies: ClassVar = [
        ("tenants", "0006_grants_by_agent"),
    ]
    operations: ClassVar = [
        RaiseWall(
            "tenants_agentgrants",
            Wall(operator="SELECT, INSERT, DELETE, UPDATE (granted)", agent_rows="agent_id = app_agent()"),
        ),
        RaiseWall("tenants_memberlimit", Wall(operator="SELECT, INSERT, DELETE, UPDATE (agents)", agent="")),
        RaiseWall(
            "tenants_agentgroupobjectpermission",
            Wall(operator="SELECT, INSERT, DELETE", agent_rows="content_object_id = app_agent()", versioned=False),
        ),
        RaiseWall(
            "tenants_agentuserobjectpermission", Wall(operator="SELECT, INSERT, DELETE", agent="", versioned=False)
        ),
        ComposeKey("tenants_membership"),
        ComposeKey("tenants_agentgrants"),
        ComposeKey("tenants_memberlimit"),
        ComposeForeignKey("tenants_agentgrants", "agent_id", "tenants_agent"),
        ComposeForeignKey("tenants_memberlimit", "member_id", "tenants_membership"),
        ComposeForeignKey("tenants_agentgroupobjectpermission", "content_object_id", "tenants_agent"),
        ComposeForeignKey("tenants_agentgroupobjectpermission", "grants_id", "tenants_agentgrants"),
        ComposeForeignKey("tenants_agentuserobjectpermission", "content_object_id", "tenants_agent"),
        ComposeForeignKey("tenants_agentuserobjectpermission", "limit_id", "tenants_memberlimit"),
    ]
