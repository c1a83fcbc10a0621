"""A stretch of time is counted without a walk through all that ever was."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("conversations", "0023_by_time"),
        ("desk", "0004_decided_lately"),
        ("tenants", "0035_endpoints_go"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="draft",
            index=models.Index(
                condition=models.Q(("decided_at__isnull", False)),
                fields=["tenant", "status", "decided_at"],
                name="draft_by_decision",
            ),
        ),
        migrations.AddIndex(
            model_name="escalation",
            index=models.Index(fields=["tenant", "created_at"], name="escalation_by_time"),
        ),
    ]
