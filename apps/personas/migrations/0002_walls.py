"""The wall around personas: an agent reads its own and writes none."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, RaiseWall, Wall

PERSONAS = Wall(
    worker="SELECT, INSERT",
    agent_rows="agent_id = app_agent()",
    states={"active": ("archived",), "archived": ("active",)},
)


class Migration(migrations.Migration):
    """Row security, grants, triggers and composite keys."""

    dependencies: ClassVar = [
        ("personas", "0001_tables"),
        ("governance", "0003_walls"),
    ]
    operations: ClassVar = [
        RaiseWall("personas_persona", PERSONAS),
        ComposeForeignKey("personas_persona", "agent_id", "tenants_agent"),
    ]
