"""The wall around memory blocks: people make them, an agent rewrites the bodies of its own unless they are read-only."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, RaiseWall, Wall

BLOCKS = Wall(
    operator="SELECT, INSERT, UPDATE (label, body, read_only, pinned, updated_by, taint)",
    worker="SELECT, UPDATE (body, updated_by, taint)",
    agent="SELECT, UPDATE (body, updated_by, taint)",
    agent_rows="agent_id = app_agent()",
    agent_checks="taint <> 'operator'",
    extra=(
        # A trigger, where a policy would hide the row from the door, which then could not say why.
        """CREATE FUNCTION keep_read_only_block() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_has_role(current_user, '@operator@'::regrole, 'USAGE') THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'A read-only block is changed by people.' USING ERRCODE = 'insufficient_privilege';
END $$""",
        """CREATE TRIGGER keep_read_only BEFORE UPDATE ON memory_memoryblock FOR EACH ROW
    WHEN (OLD.read_only) EXECUTE FUNCTION keep_read_only_block()""",
    ),
)


class Migration(migrations.Migration):
    """Row security, grants, triggers and composite keys."""

    dependencies: ClassVar = [
        ("memory", "0003_blocks"),
    ]
    operations: ClassVar = [
        RaiseWall("memory_memoryblock", BLOCKS),
        ComposeForeignKey("memory_memoryblock", "agent_id", "tenants_agent"),
    ]
