import datetime

import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.datetime
from django.db import migrations, models

from apps.governance.database.migration_operations import TableMigration


class Migration(TableMigration):
    initial = True

    dependencies = [
        ("conversations", "0001_tables"),
        ("tenants", "0001_tables"),
    ]

    operations = [
        migrations.CreateModel(
            name="PeriodicTask",
            fields=[
                ("task", models.CharField(max_length=120, primary_key=True, serialize=False)),
                ("interval_seconds", models.FloatField()),
                ("registered_at", models.DateTimeField(help_text="When Celery beat first registered the job.")),
                ("last_run_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="CircuitBreaker",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("endpoint_id", models.BigIntegerField()),
                ("model", models.CharField(max_length=80)),
                ("state", models.CharField(default="closed", max_length=10)),
                ("failures", models.PositiveIntegerField(default=0)),
                ("calls", models.PositiveIntegerField(default=0)),
                ("window_started_at", models.DateTimeField(null=True)),
                ("opened_until", models.DateTimeField(null=True)),
                ("opened_for_seconds", models.PositiveIntegerField(default=0)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("endpoint_id", "model"), name="model_has_one_breaker_at_an_endpoint"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["closed", "open", "half_open"])),
                        name="breaker_is_in_a_known_state",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Session",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
                (
                    "conversation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="sessions",
                        to="conversations.conversation",
                    ),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.agent"
                    ),
                ),
                ("prefix_sha256", models.CharField(max_length=64)),
                ("tool_names", models.JSONField()),
                (
                    "tools",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="runtime.snapshotpart",
                    ),
                ),
                ("tools_sha256", models.CharField(blank=True, max_length=64)),
                ("snapshot_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [models.Index(fields=["tenant", "agent", "-snapshot_at"], name="session_by_snapshot_time")],
            },
        ),
        migrations.CreateModel(
            name="SnapshotPart",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
                ("slot", models.PositiveSmallIntegerField()),
                ("sha256", models.CharField(max_length=64)),
                ("text", models.TextField()),
                ("segments", models.JSONField(null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "slot", "sha256"), name="part_is_stored_once_per_tenant")
                ],
            },
        ),
        migrations.CreateModel(
            name="SessionPart",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="parts", to="runtime.session"
                    ),
                ),
                ("position", models.PositiveSmallIntegerField()),
                (
                    "part",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="runtime.snapshotpart",
                    ),
                ),
            ],
            options={
                "ordering": ["position"],
                "indexes": [models.Index(fields=["part", "session"], name="session_of_part")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "session", "position"), name="session_part_has_its_own_position"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Spend",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.agent"
                    ),
                ),
                ("day", models.DateField()),
                ("calls", models.PositiveIntegerField(default=0)),
                ("unpriced_calls", models.PositiveIntegerField(default=0)),
                ("cost_micro_usd", models.PositiveBigIntegerField(default=0)),
                ("input_tokens", models.PositiveBigIntegerField(default=0)),
                ("output_tokens", models.PositiveBigIntegerField(default=0)),
                ("cache_read_tokens", models.PositiveBigIntegerField(default=0)),
                ("cache_write_5m_tokens", models.PositiveBigIntegerField(default=0)),
                ("cache_write_1h_tokens", models.PositiveBigIntegerField(default=0)),
                ("learning_calls", models.PositiveIntegerField(db_default=0)),
                ("learning_unpriced_calls", models.PositiveIntegerField(db_default=0)),
                ("learning_cost_micro_usd", models.PositiveBigIntegerField(db_default=0)),
                ("learning_input_tokens", models.PositiveBigIntegerField(db_default=0)),
                ("learning_output_tokens", models.PositiveBigIntegerField(db_default=0)),
                ("budget_escalated_at", models.DateTimeField(null=True)),
            ],
            options={
                "verbose_name": "spend of a day",
                "verbose_name_plural": "spend",
                "ordering": ["-day", "agent_id"],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "agent", "day"), name="agent_has_one_count_a_day")
                ],
            },
        ),
        migrations.CreateModel(
            name="Turn",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("external_user_turn", models.JSONField(null=True)),
                ("report_sha256", models.CharField(blank=True, db_default="", max_length=64)),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
                (
                    "conversation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="turns",
                        to="conversations.conversation",
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="turns",
                        to="runtime.session",
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="running",
                        max_length=10,
                    ),
                ),
                (
                    "outcome",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("replied", "Replied"),
                            ("drafted", "Drafted"),
                            ("observed", "Observed"),
                            ("escalated", "Escalated"),
                            ("silent", "Silent"),
                        ],
                        max_length=10,
                    ),
                ),
                ("round", models.PositiveSmallIntegerField(default=1)),
                ("fence", models.PositiveIntegerField(default=1)),
                ("attempts", models.PositiveSmallIntegerField(default=1)),
                ("crashes", models.PositiveSmallIntegerField(default=0)),
                ("failed_calls", models.PositiveSmallIntegerField(default=0)),
                ("is_released", models.BooleanField(default=False)),
                ("lease_until", models.DateTimeField()),
                ("run_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "deadline_at",
                    models.DateTimeField(
                        db_default=django.db.models.expressions.CombinedExpression(
                            django.db.models.functions.datetime.Now(), "+", models.Value(datetime.timedelta(days=1))
                        )
                    ),
                ),
                ("model", models.CharField(blank=True, db_default="", max_length=80)),
                ("history_halvings", models.PositiveSmallIntegerField(db_default=0, default=0)),
                ("current_step", models.PositiveSmallIntegerField(default=1)),
                ("step_started_at", models.DateTimeField(null=True)),
                ("started_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "reply",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="conversations.message",
                    ),
                ),
                ("failure_code", models.CharField(blank=True, max_length=40)),
                ("failure", models.TextField(blank=True)),
                (
                    "delay_notice",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="conversations.message",
                    ),
                ),
                ("user_turn_segments", models.JSONField(null=True)),
                ("learning_version_id", models.BigIntegerField(null=True)),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("session__isnull", False)), fields=["session"], name="turn_of_session"
                    ),
                    models.Index(condition=models.Q(("status", "failed")), fields=["tenant", "id"], name="failed_turn"),
                    models.Index(
                        condition=models.Q(("status", "failed")),
                        fields=["finished_at"],
                        name="failed_turn_by_finish_time",
                    ),
                    models.Index(
                        condition=models.Q(("learning_version_id__isnull", False)),
                        fields=["tenant", "learning_version_id", "id"],
                        name="turn_of_learning_version",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("status", "running")),
                        fields=("tenant", "conversation"),
                        name="one_running_turn_per_conversation",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("reply__isnull", False)),
                        fields=("tenant", "reply"),
                        name="reply_is_of_one_turn",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status", "done"), _negated=True),
                            ("reply__isnull", False),
                            ("outcome__in", ["drafted", "observed", "escalated", "silent"]),
                            _connector="OR",
                        ),
                        name="done_turn_has_a_reply_or_an_outcome",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("outcome", "replied"), _negated=True), ("reply__isnull", False), _connector="OR"
                        ),
                        name="replied_turn_has_its_reply",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ToolStep",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
                (
                    "turn",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="tool_steps",
                        to="runtime.turn",
                    ),
                ),
                ("round", models.PositiveSmallIntegerField()),
                ("step", models.PositiveSmallIntegerField()),
                ("position", models.PositiveSmallIntegerField()),
                ("fence", models.PositiveIntegerField()),
                ("call_id", models.CharField(max_length=200)),
                ("name", models.CharField(max_length=200)),
                ("arguments", models.JSONField()),
                (
                    "repeat_safety",
                    models.CharField(
                        choices=[
                            ("read_only", "Read Only"),
                            ("idempotent", "Idempotent"),
                            ("transactional", "Transactional"),
                            ("unsafe", "Unsafe"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("started", "Started"), ("done", "Done"), ("unknown", "Unknown")], max_length=10
                    ),
                ),
                ("result", models.TextField(blank=True)),
                ("is_error", models.BooleanField(default=False)),
                ("started_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("finished_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["turn_id", "round", "step", "position"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("name__in", ["get_skill", "skill_view"])),
                        fields=["tenant", "started_at"],
                        name="skill_was_read",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "turn", "round", "step", "position"), name="tool_step_is_written_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("finished_at__isnull", True), ("state", "started")),
                            models.Q(models.Q(("state", "started"), _negated=True), ("finished_at__isnull", False)),
                            _connector="OR",
                        ),
                        name="ended_tool_step_has_a_finish_time",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state__in", ["started", "unknown"]), _negated=True),
                            ("repeat_safety__in", ["idempotent", "unsafe", "read_only"]),
                            _connector="OR",
                        ),
                        name="transactional_write_is_in_the_commit_of_its_step",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ModelCall",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
                (
                    "turn",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="calls",
                        to="runtime.turn",
                    ),
                ),
                ("fence", models.PositiveIntegerField()),
                ("round", models.PositiveSmallIntegerField(default=0)),
                ("step", models.PositiveSmallIntegerField()),
                ("user_turn", models.JSONField(null=True)),
                ("assistant_message", models.JSONField(null=True)),
                ("text", models.TextField(blank=True)),
                ("model", models.CharField(max_length=80)),
                ("is_stand_in", models.BooleanField()),
                ("stop_reason", models.CharField(max_length=40)),
                ("input_tokens", models.PositiveIntegerField()),
                ("output_tokens", models.PositiveIntegerField()),
                ("cache_read_tokens", models.PositiveIntegerField()),
                ("cache_write_5m_tokens", models.PositiveIntegerField()),
                ("cache_write_1h_tokens", models.PositiveIntegerField()),
                ("cost_micro_usd", models.PositiveBigIntegerField(null=True)),
                ("requested_at", models.DateTimeField(null=True)),
                ("agent_prefix_sha256", models.CharField(blank=True, max_length=64)),
                ("workspace_prefix_sha256", models.CharField(blank=True, max_length=64)),
                ("expected_read_tokens", models.PositiveIntegerField(null=True)),
                ("has_unexpected_miss", models.BooleanField(default=False)),
                ("cache_entries", models.JSONField(default=dict)),
                ("cache_ledger", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["turn_id", "round", "fence", "step"],
                "indexes": [
                    models.Index(
                        fields=["tenant", "agent_prefix_sha256", "-requested_at"], name="call_by_agent_prefix"
                    ),
                    models.Index(
                        fields=["tenant", "workspace_prefix_sha256", "-requested_at"], name="call_by_workspace_prefix"
                    ),
                    models.Index(
                        condition=models.Q(("is_stand_in", True)),
                        fields=["tenant", "created_at"],
                        name="call_of_stand_in",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        models.F("tenant"),
                        models.F("turn"),
                        models.F("round"),
                        models.F("step"),
                        models.Case(models.When(round=0, then="fence"), default=0),
                        name="step_is_written_once",
                    )
                ],
            },
        ),
    ]
