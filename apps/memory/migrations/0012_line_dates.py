"""Until when single lines hold; an agent sets no end to what a person approved."""

from typing import ClassVar

from django.db import migrations, models

from apps.governance.database import RoleSQL

HOLD = """
CREATE FUNCTION hold_dates() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_has_role(current_user, '@operator@'::regrole, 'USAGE') OR NOT EXISTS (
        SELECT 1 FROM jsonb_each(NEW.line_dates) AS dated
        WHERE OLD.line_dates -> dated.key IS DISTINCT FROM dated.value AND dated.key IN (
            SELECT encode(sha256(convert_to(line, 'UTF8')), 'hex') FROM unnest(told_lines(NEW.approved_body)) AS line)) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'People say until when what they approved holds.' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER hold_dates BEFORE UPDATE OF line_dates ON memory_agentmemory
    FOR EACH ROW EXECUTE FUNCTION hold_dates();
CREATE TRIGGER hold_dates BEFORE UPDATE OF line_dates ON memory_memoryblock
    FOR EACH ROW EXECUTE FUNCTION hold_dates();
GRANT UPDATE (line_dates) ON memory_agentmemory TO @operator@, @worker@, @agent@;
GRANT UPDATE (line_dates) ON memory_memoryblock TO @operator@, @agent@;
GRANT UPDATE (valid_until, review_after) ON memory_memoryline TO @operator@, @worker@, @agent@
"""


class Migration(migrations.Migration):
    """Columns, and the trigger over them."""

    dependencies: ClassVar = [
        ("memory", "0011_walls_of_lines"),
    ]
    operations: ClassVar = [
        *(
            migrations.AddField(name, "line_dates", models.JSONField(blank=True, default=dict, editable=False))
            for name in ("agentmemory", "memoryblock")
        ),
        migrations.AddField(
            "memoryline", "review_after", models.DateTimeField(null=True, help_text="People look at it from then on.")
        ),
        migrations.AddField(
            "memoryline",
            "valid_until",
            models.DateTimeField(null=True, help_text="No session that opens then or later carries it."),
        ),
        RoleSQL(HOLD),
    ]
