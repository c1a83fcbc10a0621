import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("conversations", "0006_held"),
        ("tenants", "0016_keys_are_lower_case"),
    ]

    operations = [
        migrations.AddField(
            model_name="inboundevent",
            name="due_at",
            field=models.DateTimeField(
                db_default=django.db.models.functions.datetime.Now(),
                editable=False,
                help_text="When a turn may take it: a burst of messages is answered at once.",
            ),
        ),
        migrations.AddField(
            model_name="message",
            name="is_reply",
            field=models.BooleanField(
                default=False, editable=False, help_text="Whether this is what the turn said to the customer."
            ),
        ),
        migrations.AddConstraint(
            model_name="message",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_reply", True)), fields=("tenant", "turn_id"), name="turn_replies_once"
            ),
        ),
    ]
