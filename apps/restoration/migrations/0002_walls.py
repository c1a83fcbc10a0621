"""The wall around checkpoints: people and the system name moments, agents see none, and a name never moves."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, RaiseWall, Wall

CHECKPOINTS = Wall(
    operator="SELECT, INSERT", worker="SELECT, INSERT", agent_rows="false", versioned=False, append_only=True
)


class Migration(migrations.Migration):
    """Row security, grants, triggers and composite keys."""

    dependencies: ClassVar = [
        ("restoration", "0001_tables"),
        ("governance", "0003_walls"),
    ]
    operations: ClassVar = [
        RaiseWall("restoration_checkpoint", CHECKPOINTS),
        ComposeForeignKey("restoration_checkpoint", "agent_id", "tenants_agent"),
    ]
