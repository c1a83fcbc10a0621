"""The walls around lessons: workers write them, people read them, agents never see one (R151)."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, ComposeKey, RaiseWall, Wall

STAYS = """CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OF tenant_id, agent_id, situation, went_wrong, instead, source, dedup_key
    ON lessons_lesson FOR EACH ROW EXECUTE FUNCTION refuse_change()"""
LESSONS = Wall(
    operator="SELECT",
    worker="SELECT, INSERT, UPDATE (support_count, confidence, last_seen_at, noted_at)",
    agent="",
    versioned=False,
    extra=(STAYS,),
)
CASES = Wall(
    operator="SELECT",
    worker="SELECT, INSERT",
    agent="",
    crossing="SELECT (tenant_id, source, source_id)",
    versioned=False,
    append_only=True,
)


class Migration(migrations.Migration):
    """Row security, grants, triggers and composite keys."""

    dependencies: ClassVar = [
        ("lessons", "0001_tables"),
        ("conversations", "0022_walls_of_talks"),
        ("governance", "0003_walls"),
    ]
    operations: ClassVar = [
        RaiseWall("lessons_lesson", LESSONS),
        RaiseWall("lessons_lessoncase", CASES),
        ComposeKey("lessons_lesson"),
        ComposeForeignKey("lessons_lesson", "agent_id", "tenants_agent"),
        ComposeForeignKey("lessons_lessoncase", "agent_id", "tenants_agent"),
        ComposeForeignKey("lessons_lessoncase", "lesson_id", "lessons_lesson"),
        ComposeForeignKey("lessons_lessoncase", "conversation_id", "conversations_conversation"),
    ]
