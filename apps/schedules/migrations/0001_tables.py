import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import django_fsm
from django.db import migrations, models

import apps.governance.stored_text
import apps.schedules.models
import apps.tenants.models.tenant
from apps.governance.database.migration_operations import TableMigration


class Migration(TableMigration):
    initial = True

    dependencies = [
        ("conversations", "0001_tables"),
        ("skills", "0001_tables"),
        ("tenants", "0001_tables"),
    ]

    operations = [
        migrations.CreateModel(
            name="Schedule",
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
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.agent"
                    ),
                ),
                (
                    "key",
                    models.CharField(
                        max_length=60,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[a-z0-9]+(?:-[a-z0-9]+)*\\Z", "Use lower-case letters, digits and single hyphens."
                            )
                        ],
                    ),
                ),
                (
                    "title",
                    models.CharField(max_length=120, validators=[apps.governance.stored_text.validate_storable_text]),
                ),
                (
                    "cron",
                    models.CharField(
                        help_text="Minute, hour, day of the month, month, day of the week: 0 23 * * * is every day at eleven at night.",
                        max_length=120,
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            apps.schedules.models.validate_cron,
                        ],
                        verbose_name="when",
                    ),
                ),
                (
                    "timezone",
                    models.CharField(
                        blank=True,
                        help_text="Region and city, such as Europe/Madrid. Empty: the tenant's present time zone.",
                        max_length=64,
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            apps.tenants.models.tenant.validate_timezone,
                        ],
                        verbose_name="time zone",
                    ),
                ),
                (
                    "skill",
                    models.ForeignKey(
                        help_text="The skill that the agent follows. The schedule runs only while the skill is approved.",
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="skills.skill",
                    ),
                ),
                (
                    "instruction",
                    models.TextField(
                        blank=True,
                        help_text="What the skill does not say: for this run alone.",
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(2000),
                        ],
                    ),
                ),
                (
                    "preamble",
                    models.TextField(
                        blank=True,
                        help_text="The text that tells the agent that it started by itself. Empty: the product's own text.",
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(2000),
                        ],
                    ),
                ),
                (
                    "channel",
                    models.CharField(
                        blank=True,
                        help_text="The channel on which the result is posted, by the agent's send mode there. Empty: the result is only shown in the console.",
                        max_length=40,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[a-z][a-z0-9_-]*\\Z",
                                "A channel is lower-case letters, digits, hyphens and underscores, such as http.",
                            )
                        ],
                        verbose_name="posts to channel",
                    ),
                ),
                (
                    "missed_runs",
                    models.CharField(
                        choices=[("skip", "Skip them"), ("once", "Run once, late")],
                        default="skip",
                        max_length=4,
                        verbose_name="missed runs",
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("draft", "Draft"),
                            ("approved", "Approved"),
                            ("paused", "Paused"),
                            ("deprecated", "Deprecated"),
                        ],
                        default="draft",
                        max_length=10,
                    ),
                ),
                ("drafted_by", models.CharField(editable=False, max_length=200)),
                ("approved_by", models.CharField(blank=True, editable=False, max_length=200)),
                ("approved_at", models.DateTimeField(editable=False, null=True)),
            ],
            options={
                "ordering": ["agent_id", "key"],
                "abstract": False,
                "base_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("status", "deprecated"), _negated=True),
                        fields=("tenant", "agent", "key"),
                        name="schedule_key_is_unique_until_deprecated",
                        violation_error_message="The agent has a schedule with this key already. Choose another key.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status__in", ["approved", "paused"]), _negated=True),
                            models.Q(models.Q(("approved_by", ""), _negated=True), ("approved_at__isnull", False)),
                            _connector="OR",
                        ),
                        name="approved_schedule_names_its_approver",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("key__regex", "^[a-z0-9]+(?:-[a-z0-9]+)*\\Z")),
                        name="schedule_key_is_lower_case",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("timezone", ""), _negated=True), name="schedule_has_a_time_zone"
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="ScheduleClock",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                (
                    "schedule",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="clock", to="schedules.schedule"
                    ),
                ),
                ("next_run_at", models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name="ScheduleRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                (
                    "schedule",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="runs", to="schedules.schedule"
                    ),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.agent"
                    ),
                ),
                ("planned_at", models.DateTimeField()),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "result",
                    models.CharField(
                        choices=[("started", "Begun"), ("skipped", "Skipped"), ("refused", "Refused")], max_length=10
                    ),
                ),
                ("code", models.CharField(blank=True, max_length=40)),
                ("reason", models.TextField(blank=True)),
                ("missed_count", models.PositiveIntegerField(default=0)),
                ("requested_by", models.CharField(blank=True, max_length=200)),
                (
                    "conversation",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="conversations.conversation",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "schedule", "planned_at"), name="schedule_has_one_run_per_planned_time"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("conversation__isnull", False), ("result", "started")),
                            models.Q(models.Q(("result", "started"), _negated=True), ("conversation__isnull", True)),
                            _connector="OR",
                        ),
                        name="started_run_has_its_conversation",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("result", "started"), models.Q(("reason", ""), _negated=True), _connector="OR"
                        ),
                        name="run_that_did_not_start_says_why",
                    ),
                ],
            },
        ),
    ]
