"""What was settled lately is found without a walk through all that ever was."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("governance", "0012_member"),
        ("tenants", "0034_tiers"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="proposal",
            index=models.Index(
                condition=models.Q(("state", "rejected")), fields=["decided_at"], name="proposal_rejected_lately"
            ),
        ),
    ]
