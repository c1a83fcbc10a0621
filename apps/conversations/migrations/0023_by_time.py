"""A stretch of time is counted without a walk through all that ever was."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("conversations", "0022_walls_of_talks"),
        ("tenants", "0035_endpoints_go"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="conversation",
            index=models.Index(
                condition=models.Q(("member_user_id__isnull", True)),
                fields=["tenant", "created_at"],
                name="conversation_by_beginning",
            ),
        ),
        migrations.AddIndex(
            model_name="conversation",
            index=models.Index(
                condition=models.Q(("resolved_at__isnull", False)),
                fields=["tenant", "resolved_at"],
                name="conversation_by_resolution",
            ),
        ),
    ]
