import django.core.validators
import django.db.models.deletion
import django_fsm
from django.db import migrations, models

import apps.governance.stored_text
from apps.governance.database.migration_operations import TableMigration


class Migration(TableMigration):
    initial = True

    dependencies = [
        ("tenants", "0001_tables"),
    ]

    operations = [
        migrations.CreateModel(
            name="KillSwitch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                (
                    "taint",
                    models.CharField(
                        choices=[
                            ("operator", "Operator"),
                            ("agent", "Agent"),
                            ("tool", "Tool"),
                            ("customer", "Customer"),
                            ("import", "Import"),
                        ],
                        default="operator",
                        editable=False,
                        max_length=20,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now_add=True)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("freeze-learning", "Freeze learning"),
                            ("pause-sending", "Pause autonomous sending"),
                            ("pause-agent", "Pause answering"),
                        ],
                        max_length=20,
                        verbose_name="what stops",
                    ),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        blank=True,
                        help_text="Empty: every agent, including agents added later.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.agent",
                    ),
                ),
                (
                    "channel",
                    models.CharField(
                        blank=True,
                        help_text="Such as sms. Empty: on every channel.",
                        max_length=40,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[a-z][a-z0-9_-]*\\Z",
                                "A channel is lower-case letters, digits, hyphens and underscores, such as http or slack.",
                            )
                        ],
                    ),
                ),
                (
                    "reason",
                    models.TextField(
                        help_text="Shown on every page while the switch is on.",
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(500),
                        ],
                    ),
                ),
                (
                    "ends_sessions",
                    models.BooleanField(
                        default=False,
                        help_text="On: the agents' open sessions end on every channel, and their next turns freeze new prompts.",
                        verbose_name="end open sessions",
                    ),
                ),
                ("status", models.CharField(choices=[("on", "On"), ("off", "Off")], default="on", max_length=10)),
                ("activated_by", models.CharField(editable=False, max_length=200)),
                ("deactivated_by", models.CharField(blank=True, editable=False, max_length=200)),
                ("deactivated_at", models.DateTimeField(editable=False, null=True)),
            ],
            options={
                "verbose_name_plural": "switches",
                "ordering": ["-id"],
                "abstract": False,
                "base_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("status", "on")),
                        fields=("tenant", "kind", "agent", "channel"),
                        name="one_kill_switch_of_a_kind_is_on_per_scope",
                        nulls_distinct=False,
                        violation_error_message="A switch for this is on already; see its reason. Resume it first to set another one.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("status", "on"), models.Q(("deactivated_by", ""), _negated=True), _connector="OR"
                        ),
                        name="deactivated_kill_switch_names_who_deactivated_it",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("reason", ""), _negated=True), name="kill_switch_says_why"
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
    ]
