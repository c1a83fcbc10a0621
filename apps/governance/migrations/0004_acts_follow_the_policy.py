"""The acts a record may name are those of the policy."""

from typing import ClassVar

from django.db import migrations, models

from apps.governance.policy import Act


class Migration(migrations.Migration):
    """Choices are checked by forms alone: no column changes, and a later act needs no migration."""

    dependencies: ClassVar = [
        ("governance", "0003_walls"),
    ]
    operations: ClassVar = [
        migrations.AlterField(
            model_name="changerecord",
            name="act",
            field=models.CharField(choices=[(act.value, act.value) for act in Act], max_length=40),
        ),
    ]
