"""The wall around calls that wait: workers ask and use up, people decide, agents see nothing of it."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, ComposeKey, RaiseWall, Wall

APPROVALS = Wall(
    operator="SELECT, UPDATE (status, reason, decided_by, decided_at)",
    worker="SELECT, INSERT, UPDATE (status)",
    agent="",
    states={"waiting": ("approved", "refused"), "approved": ("refused", "made"), "refused": (), "made": ()},
)


class Migration(migrations.Migration):
    """Row security, grants, triggers and composite keys."""

    dependencies: ClassVar = [
        ("tools", "0003_approvals"),
        ("conversations", "0010_scheduled"),
        ("governance", "0003_walls"),
    ]
    operations: ClassVar = [
        RaiseWall("tools_toolapproval", APPROVALS),
        ComposeKey("tools_toolapproval"),
        ComposeForeignKey("tools_toolapproval", "conversation_id", "conversations_conversation"),
        ComposeForeignKey("tools_toolapproval", "agent_id", "tenants_agent"),
    ]
