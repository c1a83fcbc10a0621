"""The wall around memory and profiles: an agent writes its own memory, and in a turn one customer's profile."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, RaiseWall, Wall

MEMORIES = Wall(
    worker="SELECT, INSERT, UPDATE",
    agent="SELECT, INSERT, UPDATE (body, updated_by, taint)",
    agent_rows="agent_id = app_agent()",
    agent_checks="taint <> 'operator'",
)
PROFILES = Wall(
    worker="SELECT, INSERT, UPDATE",
    agent="SELECT, INSERT, UPDATE (preferences, notes, last_seen_at, updated_by, taint)",
    agent_rows="app_customer() IS NULL OR end_user_key = app_customer()",
    agent_checks="taint <> 'operator'",
)


class Migration(migrations.Migration):
    """Row security, grants, triggers and composite keys."""

    dependencies: ClassVar = [
        ("memory", "0001_tables"),
        ("governance", "0003_walls"),
    ]
    operations: ClassVar = [
        RaiseWall("memory_agentmemory", MEMORIES),
        RaiseWall("memory_customerprofile", PROFILES),
        ComposeForeignKey("memory_agentmemory", "agent_id", "tenants_agent"),
    ]
