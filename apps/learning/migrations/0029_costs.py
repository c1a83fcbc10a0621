"""What each look of the learning cost; of those that were before nobody knows."""

from typing import ClassVar

from django.db import migrations, models

from apps.governance.database import RoleSQL

COST = models.PositiveBigIntegerField(null=True, help_text="Empty: no price is known, or the stand-in answered.")


class Migration(migrations.Migration):
    """One column in four journals, and leave for the worker to write it where a row is settled later."""

    dependencies: ClassVar = [
        ("learning", "0028_lessons_of_the_last_week"),
    ]
    operations: ClassVar = [
        *(
            migrations.AddField(model_name=journal, name="cost_micro_usd", field=COST)
            for journal in ("digestrun", "extraction", "reflection", "tierrun")
        ),
        RoleSQL("GRANT UPDATE (cost_micro_usd) ON learning_reflection TO @worker@"),
    ]
