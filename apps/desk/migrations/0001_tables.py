import django.core.validators
import django.db.models.deletion
import django_fsm
from django.db import migrations, models

import apps.governance.stored_text
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
            name="Draft",
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
                    "conversation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="drafts",
                        to="conversations.conversation",
                    ),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.agent"
                    ),
                ),
                ("turn_id", models.BigIntegerField(editable=False)),
                (
                    "text",
                    models.TextField(
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(20000),
                        ]
                    ),
                ),
                (
                    "grounding",
                    models.CharField(
                        choices=[
                            ("skill", "A skill it read"),
                            ("tool", "A tool's answer"),
                            ("profile", "The customer's profile"),
                            ("none", "Nothing on record"),
                        ],
                        max_length=10,
                    ),
                ),
                ("facts", models.JSONField(blank=True, default=list)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("sent", "Sent"),
                            ("sent_edited", "Sent as edited"),
                            ("discarded", "Discarded"),
                            ("superseded", "Superseded"),
                        ],
                        default="open",
                        max_length=12,
                    ),
                ),
                (
                    "sent_text",
                    models.TextField(
                        blank=True,
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(20000),
                        ],
                    ),
                ),
                (
                    "reason_code",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("wrong", "Wrong"),
                            ("ungrounded", "Says what nothing supports"),
                            ("against_policy", "Against policy"),
                            ("wrong_tone", "Wrong tone"),
                            ("incomplete", "Leaves something out"),
                            ("not_needed", "No reply is needed"),
                            ("other", "Other"),
                        ],
                        max_length=20,
                        verbose_name="what is wrong",
                    ),
                ),
                (
                    "reason",
                    models.TextField(
                        blank=True,
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(500),
                        ],
                    ),
                ),
                ("decided_by", models.CharField(blank=True, editable=False, max_length=200)),
                ("decided_at", models.DateTimeField(editable=False, null=True)),
                (
                    "message",
                    models.ForeignKey(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="conversations.message",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "abstract": False,
                "base_manager_name": "objects",
                "indexes": [
                    models.Index(fields=["tenant", "status", "id"], name="draft_by_status"),
                    models.Index(
                        condition=models.Q(("status__in", ["sent_edited", "discarded"])),
                        fields=["decided_at"],
                        name="corrected_draft_by_decision",
                    ),
                    models.Index(
                        condition=models.Q(("decided_at__isnull", False)),
                        fields=["tenant", "status", "decided_at"],
                        name="draft_by_decision",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("status", "open")),
                        fields=("tenant", "conversation"),
                        name="one_open_draft_per_conversation",
                        violation_error_message="A draft of this conversation is open already. Decide on that one first.",
                    ),
                    models.UniqueConstraint(
                        fields=("tenant", "turn_id"),
                        name="turn_makes_one_draft",
                        violation_error_message="This turn has created a draft already.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("status", "open"), models.Q(("decided_by", ""), _negated=True), _connector="OR"
                        ),
                        name="decided_draft_names_who_decided",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("message__isnull", False), ("status__in", ["sent", "sent_edited"])),
                            models.Q(
                                models.Q(("status__in", ["sent", "sent_edited"]), _negated=True),
                                ("message__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="sent_draft_names_its_message",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status", "discarded"), _negated=True),
                            models.Q(("reason_code", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="discarded_draft_has_a_reason_code",
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="Escalation",
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
                    "conversation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="escalations",
                        to="conversations.conversation",
                    ),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.agent"
                    ),
                ),
                ("turn_id", models.BigIntegerField(editable=False, null=True)),
                ("tool_step_id", models.BigIntegerField(editable=False, null=True)),
                (
                    "reason",
                    models.CharField(
                        choices=[
                            ("customer_asked", "The customer asked for a person"),
                            ("missing_knowledge", "The agent does not know"),
                            ("policy", "It is not the agent's to decide"),
                            ("tool_failure", "A tool failed"),
                            ("unsupported", "The agent cannot do this"),
                            ("budget", "A budget was spent"),
                            ("unknown_outcome", "It is not known whether something happened"),
                            ("model_unavailable", "The model could not be reached"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "question",
                    models.TextField(
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(4000),
                        ]
                    ),
                ),
                ("opened_by", models.CharField(editable=False, max_length=200)),
                (
                    "status",
                    models.CharField(
                        choices=[("open", "Open"), ("answered", "Answered"), ("dismissed", "Dismissed")],
                        default="open",
                        max_length=10,
                    ),
                ),
                (
                    "answer",
                    models.TextField(
                        blank=True,
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(10000),
                        ],
                    ),
                ),
                (
                    "dismissal_reason",
                    models.TextField(
                        blank=True,
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(500),
                        ],
                        verbose_name="why it needs no answer",
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
                    models.Index(fields=["tenant", "status", "id"], name="escalation_by_status"),
                    models.Index(
                        condition=models.Q(("status", "answered")),
                        fields=["decided_at"],
                        name="answered_escalation_by_time",
                    ),
                    models.Index(fields=["tenant", "created_at"], name="escalation_by_time"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("status", "open")),
                        fields=("tenant", "conversation", "reason"),
                        name="one_open_escalation_of_a_reason",
                        violation_error_message="A question of this conversation is open for this reason already.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("status", "open"), models.Q(("decided_by", ""), _negated=True), _connector="OR"
                        ),
                        name="decided_escalation_names_who_decided",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("status", "answered"), ("answer", ""), _connector="OR"),
                        name="only_an_answered_escalation_has_an_answer",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status", "answered"), _negated=True),
                            models.Q(("answer", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="answered_escalation_has_its_answer",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("question", ""), _negated=True), name="escalation_has_a_question"
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
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
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(2000),
                        ],
                    ),
                ),
                (
                    "correction",
                    models.TextField(
                        blank=True,
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(4000),
                        ],
                        verbose_name="what should have been said",
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[("open", "Open"), ("resolved", "Resolved"), ("withdrawn", "Withdrawn")],
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
                    "resolution",
                    models.TextField(
                        blank=True,
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(2000),
                        ],
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
                        condition=models.Q(("status", "resolved")),
                        fields=["decided_at"],
                        name="resolved_report_by_decision",
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
                        name="withdrawn_report_has_no_text",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("status", "withdrawn"),
                            models.Q(("reason_code", "other"), _negated=True),
                            models.Q(("explanation", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="report_for_reason_other_has_an_explanation",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("decided_at__isnull", False),
                                ("status", "resolved"),
                                models.Q(("outcome", ""), _negated=True),
                                models.Q(("decided_by", ""), _negated=True),
                            ),
                            models.Q(
                                models.Q(("status", "resolved"), _negated=True),
                                ("decided_at__isnull", True),
                                ("decided_by", ""),
                                ("outcome", ""),
                                ("resolution", ""),
                            ),
                            _connector="OR",
                        ),
                        name="resolved_report_has_an_outcome",
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="SendRule",
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
                    "channel",
                    models.CharField(
                        blank=True,
                        help_text="Such as sms. Empty: every channel.",
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
                    "skill",
                    models.ForeignKey(
                        blank=True,
                        help_text="The rule applies to replies for which the agent has read this skill. Empty: every reply.",
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="skills.skill",
                    ),
                ),
                (
                    "send_mode",
                    models.CharField(
                        choices=[
                            ("autonomous", "Autonomous: it is sent at once"),
                            ("suggest", "Suggest: a person sends it"),
                            ("observe", "Observe: nothing is sent"),
                        ],
                        max_length=10,
                        verbose_name="send mode",
                    ),
                ),
            ],
            options={
                "ordering": ["agent_id", "channel", "id"],
                "abstract": False,
                "base_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "agent", "channel", "skill"),
                        name="one_send_rule_per_agent_channel_and_skill",
                        nulls_distinct=False,
                        violation_error_message="There is a rule for this agent, channel and skill already. Change that one.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("channel", ""), _negated=True), ("skill__isnull", False), _connector="OR"
                        ),
                        name="send_rule_names_a_channel_or_a_skill",
                        violation_error_message="Choose a channel, a skill, or both. For all replies, set the agent's own send mode.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("send_mode__in", ["autonomous", "suggest", "observe"])),
                        name="send_rule_has_a_known_mode",
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
    ]
