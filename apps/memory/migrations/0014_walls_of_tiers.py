"""The wall around distilled tiers: workers write them, people correct and judge them, an agent reads its own."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, RaiseWall, Wall

TIERS = Wall(
    operator="SELECT, DELETE, UPDATE (body, facts, status, updated_by, taint)",
    worker="SELECT, INSERT, UPDATE (body, facts, status, updated_by, taint)",
    agent="SELECT",
    agent_rows="agent_id = app_agent()",
    states={"standing": ("held",), "held": ("standing",)},
)


class Migration(migrations.Migration):
    """Row security, grants, triggers and composite keys."""

    dependencies: ClassVar = [
        ("memory", "0013_tiers"),
        ("governance", "0003_walls"),
    ]
    operations: ClassVar = [
        RaiseWall("memory_memorytier", TIERS),
        ComposeForeignKey("memory_memorytier", "agent_id", "tenants_agent"),
    ]
