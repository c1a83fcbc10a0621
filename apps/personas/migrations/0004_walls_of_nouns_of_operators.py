"""The walls around overlays, identity cards and rules: an agent reads what its own prompt needs and writes none of it."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, RaiseWall, Wall

OF_ONE_AGENT = Wall(agent_rows="agent_id = app_agent()")
RULES = Wall(
    agent_rows="agent_id IS NULL OR agent_id = app_agent()",
    states={"active": ("retired",), "retired": ("active",)},
)


class Migration(migrations.Migration):
    """Row security, grants, triggers and composite keys."""

    dependencies: ClassVar = [
        ("personas", "0003_nouns_of_operators"),
    ]
    operations: ClassVar = [
        RaiseWall("personas_personaoverlay", OF_ONE_AGENT),
        RaiseWall("personas_identitycard", OF_ONE_AGENT),
        RaiseWall("personas_standingrule", RULES),
        ComposeForeignKey("personas_personaoverlay", "agent_id", "tenants_agent"),
        ComposeForeignKey("personas_identitycard", "agent_id", "tenants_agent"),
        ComposeForeignKey("personas_standingrule", "agent_id", "tenants_agent"),
    ]
