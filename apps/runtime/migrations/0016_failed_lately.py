"""What was settled lately is found without a walk through all that ever was."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("conversations", "0022_walls_of_talks"),
        ("runtime", "0015_questions_of_the_paused"),
        ("tenants", "0034_tiers"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="turn",
            index=models.Index(
                condition=models.Q(("status", "failed")), fields=["finished_at"], name="turn_failed_lately"
            ),
        ),
    ]
