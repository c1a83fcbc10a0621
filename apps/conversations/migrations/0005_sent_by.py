"""Which person sent an instruction, from the session it came in on; it never changes."""

from typing import ClassVar

from django.db import migrations, models

from apps.governance.database import RoleSQL

EVENTS_STAY = """
DROP TRIGGER append_only ON conversations_inboundevent;
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OF tenant_id, conversation_id, kind, idempotency_key, sender_name, line_key,
    sent_by, text, text_sha256, received_at ON conversations_inboundevent FOR EACH ROW EXECUTE FUNCTION refuse_change()
"""


class Migration(migrations.Migration):
    """A column, the sentence it must keep to, and the trigger."""

    dependencies: ClassVar = [
        ("conversations", "0004_record_walls"),
    ]
    operations: ClassVar = [
        migrations.AddField(
            model_name="inboundevent",
            name="sent_by",
            field=models.CharField(
                blank=True,
                editable=False,
                help_text="Which person sent it; blank for a customer's message.",
                max_length=200,
            ),
        ),
        migrations.AddConstraint(
            model_name="inboundevent",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind", "operator"), ("sent_by", ""), _connector="OR"),
                name="only_an_instruction_names_who_sent_it",
            ),
        ),
        RoleSQL(EVENTS_STAY),
    ]
