"""Which lines of a memory or a block a person wrote or approved, so that agents cannot quietly lose them."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """One column each."""

    dependencies: ClassVar = [
        ("memory", "0005_signatures"),
    ]
    operations: ClassVar = [
        migrations.AddField(
            model_name=name,
            name="approved_body",
            field=models.TextField(
                blank=True, default="", editable=False, help_text="The lines a person wrote or approved."
            ),
            preserve_default=False,
        )
        for name in ("agentmemory", "memoryblock")
    ]
