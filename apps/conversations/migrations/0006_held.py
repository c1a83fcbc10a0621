"""Who has a conversation in hand, and that its agent does not end it meanwhile."""

from typing import ClassVar

from django.db import migrations, models

from apps.governance.database import RoleSQL

KEPT_FOR_ITS_HOLDER = """
CREATE FUNCTION keep_for_its_holder() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_has_role(current_user, '@agent@'::regrole, 'USAGE') THEN
        RAISE EXCEPTION 'A colleague has this conversation in hand and ends it.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER keep_for_its_holder BEFORE UPDATE OF status ON conversations_conversation FOR EACH ROW
    WHEN (OLD.held_at IS NOT NULL) EXECUTE FUNCTION keep_for_its_holder()
"""


class Migration(migrations.Migration):
    """Three columns, the sentence they keep to, and a trigger."""

    dependencies: ClassVar = [
        ("conversations", "0005_sent_by"),
    ]
    operations: ClassVar = [
        migrations.AddField(
            model_name="conversation",
            name="held_by",
            field=models.CharField(blank=True, editable=False, max_length=200),
        ),
        migrations.AddField(
            model_name="conversation",
            name="held_by_id",
            field=models.BigIntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="conversation",
            name="held_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddConstraint(
            model_name="conversation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("held_at__isnull", True),
                    ("held_by", ""),
                    ("held_by_id__isnull", True),
                )
                | models.Q(
                    models.Q(("held_by", ""), _negated=True),
                    ("held_at__isnull", False),
                    ("held_by_id__isnull", False),
                ),
                name="held_conversation_names_who_holds_it",
            ),
        ),
        RoleSQL(KEPT_FOR_ITS_HOLDER),
    ]
