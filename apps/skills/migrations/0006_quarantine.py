"""Skills that a person keeps from everybody: no agent sees them, and nothing about them is decided until one is released."""

from typing import ClassVar

from django.db import migrations, models

import apps.governance.text
from apps.governance.database import RoleSQL

# A policy of its own: whatever else lets an agent see a skill, this one hides it.
QUARANTINE = """
CREATE POLICY skills_skill_quarantine ON skills_skill AS RESTRICTIVE TO @agent@ USING (quarantined_at IS NULL);
CREATE FUNCTION keep_quarantined() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.quarantined_at IS NULL
        AND (NEW.status, NEW.name, NEW.title, NEW.description, NEW.category, NEW.body)
            IS NOT DISTINCT FROM (OLD.status, OLD.name, OLD.title, OLD.description, OLD.category, OLD.body) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'This skill is in quarantine (%). Release it before you decide on it.', OLD.quarantine_reason
        USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER keep_quarantined BEFORE UPDATE OR DELETE ON skills_skill FOR EACH ROW
    WHEN (OLD.quarantined_at IS NOT NULL) EXECUTE FUNCTION keep_quarantined();
GRANT UPDATE (quarantined_at, quarantined_by, quarantine_reason) ON skills_skill TO @operator@
"""


class Migration(migrations.Migration):
    """Columns, the policy and the trigger."""

    dependencies: ClassVar = [
        ("skills", "0005_reviewed"),
    ]
    operations: ClassVar = [
        migrations.AddField("skill", "quarantined_at", models.DateTimeField(editable=False, null=True)),
        migrations.AddField(
            "skill", "quarantined_by", models.CharField(blank=True, default="", editable=False, max_length=200), False
        ),
        migrations.AddField(
            "skill",
            "quarantine_reason",
            models.TextField(blank=True, default="", editable=False, validators=[apps.governance.text.plain_text]),
            False,
        ),
        migrations.AddConstraint(
            "skill",
            models.CheckConstraint(
                condition=models.Q(quarantined_at=None, quarantined_by="", quarantine_reason="")
                | (
                    models.Q(quarantined_at__isnull=False)
                    & ~models.Q(quarantined_by="")
                    & ~models.Q(quarantine_reason="")
                ),
                name="quarantined_skill_says_who_and_why",
            ),
        ),
        RoleSQL(QUARANTINE),
    ]
