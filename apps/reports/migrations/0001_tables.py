import django.core.validators
import django.db.models.deletion
import django_fsm
from django.db import migrations, models

import apps.governance.text
from apps.governance.database import TableMigration


class Migration(TableMigration):
    initial = True

    dependencies = [
        ("conversations", "0001_tables"),
        ("tenants", "0001_tables"),
    ]

    operations = [
        migrations.CreateModel(
            name="Report",
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
                            ("tool-derived", "Tool Derived"),
                            ("customer-derived", "Customer Derived"),
                            ("imported", "Imported"),
                        ],
                        default="operator",
                        editable=False,
                        max_length=20,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now_add=True)),
                (
                    "conversation",
                    models.ForeignKey(
                        editable=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="reports",
                        to="conversations.conversation",
                    ),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        editable=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.agent",
                    ),
                ),
                (
                    "message",
                    models.ForeignKey(
                        editable=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="reports",
                        to="conversations.message",
                    ),
                ),
                (
                    "reason_code",
                    models.CharField(
                        choices=[
                            ("wrong_fact", "A fact is wrong"),
                            ("against_policy", "Against policy"),
                            ("wrong_tone", "Wrong tone"),
                            ("not_escalated", "A person should have been asked"),
                            ("private_data", "Shows private data"),
                            ("incomplete", "Leaves something out"),
                            ("other", "Other"),
                        ],
                        max_length=20,
                        verbose_name="what is wrong",
                    ),
                ),
                (
                    "explanation",
                    models.TextField(
                        blank=True,
                        validators=[apps.governance.text.plain_text, django.core.validators.MaxLengthValidator(2000)],
                    ),
                ),
                (
                    "correction",
                    models.TextField(
                        blank=True,
                        validators=[apps.governance.text.plain_text, django.core.validators.MaxLengthValidator(4000)],
                        verbose_name="what should have been said",
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[("open", "Open"), ("settled", "Settled"), ("withdrawn", "Withdrawn")],
                        default="open",
                        max_length=10,
                    ),
                ),
                ("author", models.CharField(editable=False, max_length=200)),
                (
                    "outcome",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("skill", "A skill is to be changed"),
                            ("memory", "Memory is to be changed"),
                            ("persona", "The persona or a rule is to be changed"),
                            ("tool", "A tool or its data is to be changed"),
                            ("lesson", "What was said is lesson enough"),
                            ("nothing_wrong", "Nothing was wrong"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "settlement",
                    models.TextField(
                        blank=True,
                        validators=[apps.governance.text.plain_text, django.core.validators.MaxLengthValidator(2000)],
                        verbose_name="what was done about it",
                    ),
                ),
                ("decided_by", models.CharField(blank=True, editable=False, max_length=200)),
                ("decided_at", models.DateTimeField(editable=False, null=True)),
            ],
            options={
                "ordering": ["-id"],
                "abstract": False,
                "base_manager_name": "objects",
                "indexes": [
                    models.Index(fields=["tenant", "status", "id"], name="report_by_status"),
                    models.Index(fields=["tenant", "conversation", "id"], name="report_by_conversation"),
                    models.Index(fields=["tenant", "created_at"], name="report_by_time"),
                    models.Index(
                        condition=models.Q(("status", "settled")), fields=["decided_at"], name="report_settled_lately"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("status", "withdrawn"), _negated=True),
                        fields=("tenant", "message", "author"),
                        name="person_reports_a_reply_once",
                        violation_error_message="You have reported this reply already. Withdraw that report to make another.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("author", ""), _negated=True), name="report_names_its_author"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status", "withdrawn"), _negated=True),
                            models.Q(("correction", ""), ("explanation", "")),
                            _connector="OR",
                        ),
                        name="withdrawn_report_says_nothing",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("status", "withdrawn"),
                            models.Q(("reason_code", "other"), _negated=True),
                            models.Q(("explanation", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="report_for_another_reason_explains_it",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("decided_at__isnull", False),
                                ("status", "settled"),
                                models.Q(("outcome", ""), _negated=True),
                                models.Q(("decided_by", ""), _negated=True),
                            ),
                            models.Q(
                                models.Q(("status", "settled"), _negated=True),
                                ("decided_at__isnull", True),
                                ("decided_by", ""),
                                ("outcome", ""),
                                ("settlement", ""),
                            ),
                            _connector="OR",
                        ),
                        name="settled_report_says_what_came_of_it",
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
    ]
