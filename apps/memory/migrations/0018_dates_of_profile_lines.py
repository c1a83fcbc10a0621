"""Until when single lines noted of a customer hold; what stood already keeps its dates unless people change them."""

from typing import ClassVar

from django.db import migrations, models

from apps.governance.database import RoleSQL

HOLD = """
CREATE FUNCTION hold_profile_dates() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_has_role(current_user, '@operator@'::regrole, 'USAGE') OR NOT EXISTS (
        SELECT 1 FROM (
            SELECT unnest(told_lines(OLD.preferences) || told_lines(OLD.notes)) AS line
            INTERSECT SELECT unnest(told_lines(NEW.preferences) || told_lines(NEW.notes))) AS stays
        WHERE OLD.line_dates -> encode(sha256(convert_to(line, 'UTF8')), 'hex')
            IS DISTINCT FROM NEW.line_dates -> encode(sha256(convert_to(line, 'UTF8')), 'hex')) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'People say until when what stands there already holds.' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER hold_profile_dates BEFORE UPDATE OF line_dates ON memory_customerprofile
    FOR EACH ROW EXECUTE FUNCTION hold_profile_dates();
GRANT UPDATE (line_dates) ON memory_customerprofile TO @operator@, @worker@, @agent@;
GRANT UPDATE (valid_until, review_after) ON memory_profileline TO @operator@, @worker@, @agent@
"""


class Migration(migrations.Migration):
    """Columns, and the trigger over them."""

    dependencies: ClassVar = [
        ("memory", "0017_walls_of_profile_lines"),
    ]
    operations: ClassVar = [
        migrations.AddField(
            "customerprofile",
            "line_dates",
            models.JSONField(blank=True, default=dict, db_default=models.Value({}, models.JSONField()), editable=False),
        ),
        migrations.AddField(
            "profileline", "review_after", models.DateTimeField(null=True, help_text="People look at it from then on.")
        ),
        migrations.AddField(
            "profileline",
            "valid_until",
            models.DateTimeField(null=True, help_text="No session that opens then or later carries it."),
        ),
        RoleSQL(HOLD),
    ]
