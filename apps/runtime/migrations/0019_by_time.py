"""A stretch of time is counted without a walk through all that ever was."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runtime", "0018_sessions_opened_lately"),
        ("tenants", "0035_endpoints_go"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="modelcall",
            index=models.Index(
                condition=models.Q(("stand_in", True)), fields=["tenant", "at"], name="call_of_stand_in"
            ),
        ),
    ]
