"""Sessions are found by when they opened: what a proposal would reach is counted by the last thirty days."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """An index."""

    dependencies: ClassVar = [
        ("runtime", "0017_fetched_skills"),
    ]
    operations: ClassVar = [
        migrations.AddIndex(
            model_name="session",
            index=models.Index(fields=["tenant", "agent", "-snapshot_at"], name="session_opened_lately"),
        ),
    ]
