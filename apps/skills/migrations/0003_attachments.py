"""The files of a skill stand in the skill, so that what is approved is one row."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """A column; every skill begins without files."""

    dependencies: ClassVar = [
        ("skills", "0002_walls"),
    ]
    operations: ClassVar = [
        migrations.AddField(
            model_name="skill",
            name="attachments",
            field=models.JSONField(
                blank=True, db_default=models.Value([], models.JSONField()), default=list, editable=False
            ),
        ),
    ]
