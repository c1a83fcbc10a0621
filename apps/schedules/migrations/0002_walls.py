"""The walls around schedules: people decide, an agent plans drafts for itself alone, workers move the clock and note the runs."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, ComposeKey, RaiseWall, UniqueInTenant, Wall

OF_VISIBLE_SCHEDULE = "EXISTS (SELECT 1 FROM schedules_schedule AS plan WHERE plan.id = schedule_id)"
# An agent's plan stands under its own name, is not signed, and says that no person wrote it.
SCHEDULES = Wall(
    operator=(
        "SELECT, INSERT, UPDATE (title, cron, timezone, skill_id, instruction, preamble, channel, missed_runs, status,"
        " approved_by, approved_at)"
    ),
    agent="SELECT, INSERT",
    agent_rows="agent_id = app_agent()",
    agent_checks="status = 'draft' AND approved_by = '' AND drafted_by LIKE 'agent:%' AND taint <> 'operator'",
    crossing="SELECT (id, tenant_id, agent_id, channel, status)",
    states={
        "draft": ("approved", "deprecated"),
        "approved": ("paused", "deprecated"),
        "paused": ("approved", "deprecated"),
        "deprecated": (),
    },
)
CLOCKS = Wall(
    operator="SELECT, INSERT, UPDATE (next_run_at)",
    worker="SELECT, UPDATE (next_run_at)",
    agent_rows=OF_VISIBLE_SCHEDULE,
    crossing="SELECT (tenant_id, schedule_id, next_run_at)",
    versioned=False,
)
RUNS = Wall(
    operator="SELECT",
    worker="SELECT, INSERT",
    agent_rows="agent_id = app_agent()",
    versioned=False,
    append_only=True,
)


class Migration(migrations.Migration):
    """Row security, grants, triggers and composite keys."""

    dependencies: ClassVar = [
        ("schedules", "0001_tables"),
        ("conversations", "0010_scheduled"),
        ("governance", "0003_walls"),
        ("skills", "0002_walls"),
    ]
    operations: ClassVar = [
        RaiseWall("schedules_schedule", SCHEDULES),
        RaiseWall("schedules_scheduleclock", CLOCKS),
        RaiseWall("schedules_schedulerun", RUNS),
        ComposeKey("schedules_schedule"),
        UniqueInTenant("schedules_scheduleclock", "schedule_id"),
        ComposeForeignKey("schedules_schedule", "agent_id", "tenants_agent"),
        ComposeForeignKey("schedules_schedule", "skill_id", "skills_skill"),
        ComposeForeignKey("schedules_scheduleclock", "schedule_id", "schedules_schedule"),
        ComposeForeignKey("schedules_schedulerun", "schedule_id", "schedules_schedule"),
        ComposeForeignKey("schedules_schedulerun", "agent_id", "tenants_agent"),
        ComposeForeignKey("schedules_schedulerun", "conversation_id", "conversations_conversation"),
    ]
