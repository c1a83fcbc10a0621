"""What was done in a stretch of time, and what was refused in it, are found without a walk through the whole books."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("governance", "0013_rejected_lately"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="changerecord",
            index=models.Index(fields=["tenant", "act", "at"], name="change_by_act_and_time"),
        ),
        migrations.AddIndex(
            model_name="refusal",
            index=models.Index(fields=["tenant", "at"], name="refusal_by_time"),
        ),
    ]
