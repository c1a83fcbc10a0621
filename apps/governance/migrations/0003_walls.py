"""The wall around change records and proposals."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, ComposeKey, RaiseWall, Wall

# An agent writes its own records and reads back no more than the id the insert returns.
RECORDS = Wall(
    operator="SELECT, INSERT",
    worker="SELECT, INSERT",
    agent="INSERT, SELECT (id)",
    agent_rows="agent_id = app_agent()",
    agent_checks="actor_role = 'agent'",
    versioned=False,
    append_only=True,
)
TEXTS = Wall(
    operator="SELECT, INSERT", worker="SELECT, INSERT", agent="INSERT, SELECT (id)", versioned=False, append_only=True
)
PROPOSALS = Wall(
    agent="SELECT, INSERT, UPDATE (target_label, base_sha256, content, rationale, evidence, support_count, proposed_by, taint)",
    agent_rows="agent_id = app_agent()",
    agent_checks="taint <> 'operator'",
    agent_updates="state = 'open'",
    states={"open": ("applied", "rejected")},
    state_column="state",
)


class Migration(migrations.Migration):
    """Row security, grants, triggers and composite keys."""

    dependencies: ClassVar = [
        ("governance", "0002_tables"),
        ("tenants", "0002_walls"),
    ]
    operations: ClassVar = [
        RaiseWall("governance_changerecord", RECORDS),
        RaiseWall("governance_changetext", TEXTS),
        RaiseWall("governance_proposal", PROPOSALS),
        ComposeKey("governance_changerecord"),
        ComposeForeignKey("governance_changetext", "record_id", "governance_changerecord"),
        ComposeForeignKey("governance_proposal", "agent_id", "tenants_agent"),
    ]
