"""A webhook may be told of what happens in no conversation: learning versions, and runs over memory."""

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models

from apps.governance.database import RoleSQL


class Migration(migrations.Migration):
    """Two switches, deliveries of no conversation, and the right to change the switches."""

    dependencies: ClassVar = [
        ("conversations", "0022_walls_of_talks"),
        ("tenants", "0035_endpoints_go"),
        ("webhooks", "0005_told_long_ago_goes"),
    ]

    operations: ClassVar = [
        migrations.AddField(
            model_name="webhook",
            name="on_distilled",
            field=models.BooleanField(
                default=False,
                help_text="A run of an agent's mid or long tier, whatever came of it.",
                verbose_name="distilled memory",
            ),
        ),
        migrations.AddField(
            model_name="webhook",
            name="on_version",
            field=models.BooleanField(
                default=False,
                help_text="A learning version that waits for a person, or went live by itself.",
                verbose_name="learning versions",
            ),
        ),
        migrations.AlterField(
            model_name="delivery",
            name="conversation",
            field=models.ForeignKey(
                db_index=False,
                help_text="None where it happened in no conversation.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="conversations.conversation",
            ),
        ),
        migrations.AlterField(
            model_name="delivery",
            name="event",
            field=models.CharField(
                choices=[
                    ("reply", "reply"),
                    ("draft", "draft"),
                    ("escalation", "escalation"),
                    ("resolved", "resolved"),
                    ("version", "version"),
                    ("distilled", "distilled"),
                ],
                max_length=12,
            ),
        ),
        migrations.AlterField(
            model_name="delivery",
            name="subject_id",
            field=models.BigIntegerField(
                help_text="Which message, draft, escalation, conversation, version or run it is about."
            ),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("conversation__isnull", True), ("event__in", ["distilled", "version"])),
                    models.Q(
                        models.Q(("event__in", ["distilled", "version"]), _negated=True),
                        ("conversation__isnull", False),
                    ),
                    _connector="OR",
                ),
                name="delivery_names_its_conversation",
            ),
        ),
        RoleSQL("GRANT UPDATE (on_version, on_distilled) ON webhooks_webhook TO @operator@"),
    ]
