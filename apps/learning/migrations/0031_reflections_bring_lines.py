"""The proposals in which a reflection brings what an agent would remember; of those that were before there are none."""

from typing import ClassVar

from django.db import migrations, models

from apps.governance.database import RoleSQL

VERDICTS = [
    ("waiting", "Not settled yet"),
    ("drafted", "Drafted something for a person"),
    ("quiet", "No conversation to learn from"),
    ("nothing", "The model found nothing to learn"),
    ("known", "The agent has it already"),
    ("malformed", "The model's answer was unusable"),
    ("refused", "The drafts broke a rule"),
    ("failed", "The model failed over it"),
]


class Migration(migrations.Migration):
    """One column, and leave for the worker to write it when a row is settled."""

    dependencies: ClassVar = [
        ("learning", "0030_leaves_customers_their_money"),
    ]
    operations: ClassVar = [
        migrations.AddField(
            model_name="reflection",
            name="proposals",
            field=models.JSONField(
                blank=True,
                db_default=models.Value([], models.JSONField()),
                default=list,
                help_text="The ids of the proposals that bring what it would remember before a person.",
            ),
        ),
        migrations.AlterField(
            model_name="reflection",
            name="verdict",
            field=models.CharField(choices=VERDICTS, default="waiting", max_length=12),
        ),
        RoleSQL("GRANT UPDATE (proposals) ON learning_reflection TO @worker@"),
    ]
