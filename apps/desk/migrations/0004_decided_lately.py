"""What was settled lately is found without a walk through all that ever was."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("conversations", "0022_walls_of_talks"),
        ("desk", "0003_a_draft_may_go"),
        ("tenants", "0034_tiers"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="draft",
            index=models.Index(
                condition=models.Q(("status__in", ["sent_edited", "discarded"])),
                fields=["decided_at"],
                name="draft_corrected_lately",
            ),
        ),
        migrations.AddIndex(
            model_name="escalation",
            index=models.Index(
                condition=models.Q(("status", "answered")), fields=["decided_at"], name="question_answered_lately"
            ),
        ),
    ]
