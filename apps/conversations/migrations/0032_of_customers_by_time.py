"""When a customer came back is looked up by their key and the time."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """One index in place of another."""

    dependencies: ClassVar = [
        ("conversations", "0031_of_an_agent"),
    ]
    operations: ClassVar = [
        migrations.RemoveIndex(model_name="conversation", name="conversation_of_customer"),
        migrations.AddIndex(
            model_name="conversation",
            index=models.Index(
                condition=models.Q(("end_user_key", ""), _negated=True),
                fields=["tenant", "end_user_key", "created_at"],
                name="conversation_of_customer",
            ),
        ),
    ]
