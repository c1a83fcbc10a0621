"""The wall around examples: people keep and retire them, the claim of a turn reads them, agents never list one."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, ComposeKey, RaiseWall, RoleSQL, Wall

EXAMPLES = Wall(
    operator="SELECT, INSERT, UPDATE (status)",
    worker="SELECT",
    agent="",
    states={"approved": ("retired",)},
)
HELD = """
CREATE TRIGGER append_only BEFORE UPDATE OF tenant_id, agent_id, lesson_id, situation, draft, correction, masked, telling_words,
    approved_by, approved_at, taint ON lessons_example FOR EACH ROW EXECUTE FUNCTION refuse_change()
"""


class Migration(migrations.Migration):
    """Row security, grants, triggers and composite keys."""

    dependencies: ClassVar = [("lessons", "0008_examples")]
    operations: ClassVar = [
        RaiseWall("lessons_example", EXAMPLES),
        RoleSQL(HELD),
        ComposeKey("lessons_example"),
        ComposeForeignKey("lessons_example", "agent_id", "tenants_agent"),
        ComposeForeignKey("lessons_example", "lesson_id", "lessons_lesson"),
    ]
