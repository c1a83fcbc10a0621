"""What a webhook took is found by when that was, so that it can go."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """An index."""

    dependencies: ClassVar = [
        ("webhooks", "0003_replies_before_forgetting"),
    ]
    operations: ClassVar = [
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("status", "delivered")),
                fields=["tenant", "webhook", "delivered_at"],
                name="delivery_told",
            ),
        ),
    ]
