import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
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
            name="Conversation",
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
                    "conversation_key",
                    models.CharField(max_length=200, validators=[apps.governance.stored_text.validate_storable_text]),
                ),
                ("end_user_key", models.CharField(blank=True, max_length=200)),
                (
                    "status",
                    models.CharField(
                        choices=[("open", "Open"), ("resolved", "Resolved"), ("abandoned", "Abandoned")],
                        default="open",
                        max_length=10,
                    ),
                ),
                (
                    "outcome",
                    models.CharField(
                        choices=[("unknown", "Unknown"), ("solved", "Solved"), ("unsolved", "Unsolved")],
                        default="unknown",
                        max_length=10,
                    ),
                ),
                (
                    "origin",
                    models.CharField(
                        choices=[("live", "Live"), ("imported", "Imported")], default="live", max_length=10
                    ),
                ),
                (
                    "off_the_record",
                    models.BooleanField(
                        default=False,
                        editable=False,
                        help_text="Set when the conversation opens. On: nothing is learned from it.",
                    ),
                ),
                (
                    "follows",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="followed_by",
                        to="conversations.conversation",
                    ),
                ),
                (
                    "parent",
                    models.ForeignKey(
                        db_index=False,
                        editable=False,
                        help_text="The conversation in which another agent asked this one; empty if a customer writes.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="children",
                        to="conversations.conversation",
                    ),
                ),
                (
                    "hops",
                    models.PositiveSmallIntegerField(
                        db_default=0, default=0, editable=False, help_text="Number of conversations above it."
                    ),
                ),
                (
                    "delegating_turn_id",
                    models.BigIntegerField(editable=False, help_text="The turn of the agent that asked.", null=True),
                ),
                (
                    "budget_micro_usd",
                    models.PositiveBigIntegerField(
                        editable=False,
                        help_text="Highest total cost of the answer. Empty: no limit of its own.",
                        null=True,
                    ),
                ),
                ("resolved_at", models.DateTimeField(blank=True, null=True)),
                (
                    "proven_at",
                    models.DateTimeField(editable=False, help_text="When the customer was verified.", null=True),
                ),
                (
                    "proven_key_id",
                    models.BigIntegerField(
                        editable=False, help_text="The tenant's key that verified the customer.", null=True
                    ),
                ),
                (
                    "rating",
                    models.PositiveSmallIntegerField(
                        editable=False,
                        help_text="The customer's rating after it ended, from 1 to 5.",
                        null=True,
                    ),
                ),
                (
                    "rating_comment",
                    models.TextField(
                        blank=True,
                        editable=False,
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(2000),
                        ],
                    ),
                ),
                ("rated_at", models.DateTimeField(editable=False, null=True)),
                (
                    "erased_at",
                    models.DateTimeField(
                        editable=False, help_text="When texts off the record were last erased.", null=True
                    ),
                ),
                (
                    "has_external_agent",
                    models.BooleanField(
                        default=False,
                        editable=False,
                        help_text="Set when it opens. On: an external agent answers.",
                    ),
                ),
                (
                    "quarantined_at",
                    models.DateTimeField(
                        editable=False,
                        help_text="Set: nothing is learned from it, and no prompt shows what was.",
                        null=True,
                    ),
                ),
                ("quarantined_by", models.CharField(blank=True, editable=False, max_length=200)),
                (
                    "quarantine_reason",
                    models.TextField(
                        blank=True,
                        editable=False,
                        validators=[apps.governance.stored_text.validate_storable_text],
                    ),
                ),
                ("taken_over_by", models.CharField(blank=True, editable=False, max_length=200)),
                ("taken_over_by_id", models.BigIntegerField(editable=False, null=True)),
                ("taken_over_at", models.DateTimeField(editable=False, null=True)),
                (
                    "member_user_id",
                    models.BigIntegerField(
                        editable=False,
                        help_text="The member who talks with an assistant; empty if a customer writes.",
                        null=True,
                    ),
                ),
                (
                    "trial_proposal_id",
                    models.BigIntegerField(
                        editable=False,
                        help_text="The open proposal that is tried as if it were applied; playground only.",
                        null=True,
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "abstract": False,
                "base_manager_name": "objects",
                "indexes": [
                    models.Index(fields=["tenant", "status", "id"], name="conversation_by_status"),
                    models.Index(
                        condition=models.Q(("end_user_key", ""), _negated=True),
                        fields=["tenant", "end_user_key", "created_at"],
                        name="conversation_of_customer",
                    ),
                    models.Index(
                        condition=models.Q(("off_the_record", True)), fields=["id"], name="conversation_off_the_record"
                    ),
                    models.Index(
                        condition=models.Q(("parent__isnull", False)),
                        fields=["tenant", "parent"],
                        name="conversation_by_parent",
                    ),
                    models.Index(
                        condition=models.Q(("member_user_id__isnull", False)),
                        fields=["tenant", "member_user_id"],
                        name="talk_of_a_member",
                    ),
                    models.Index(
                        condition=models.Q(("member_user_id__isnull", True)),
                        fields=["tenant", "created_at"],
                        name="conversation_by_creation",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("member_user_id__isnull", True), ("origin", "live"), ("parent__isnull", True)
                        ),
                        fields=["tenant", "agent", "id"],
                        name="conversation_of_agent",
                    ),
                    models.Index(
                        condition=models.Q(("resolved_at__isnull", False)),
                        fields=["tenant", "resolved_at"],
                        name="conversation_by_resolution",
                    ),
                    models.Index(
                        condition=models.Q(("quarantined_at__isnull", False)),
                        fields=["tenant", "id"],
                        name="conversation_in_quarantine",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("status", "open")),
                        fields=("tenant", "agent", "channel", "conversation_key"),
                        name="one_open_conversation_per_thread",
                        violation_error_message="This thread has an open conversation already.",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("origin", "imported")),
                        fields=("tenant", "agent", "conversation_key"),
                        name="transcript_is_imported_once",
                        violation_error_message="This transcript has been imported already.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("status", "resolved"), ("resolved_at__isnull", True), _connector="OR"),
                        name="only_a_resolved_conversation_has_a_time_of_resolution",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("taken_over_at__isnull", True),
                                ("taken_over_by", ""),
                                ("taken_over_by_id__isnull", True),
                            ),
                            models.Q(
                                models.Q(("taken_over_by", ""), _negated=True),
                                ("taken_over_at__isnull", False),
                                ("taken_over_by_id__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="taken_over_conversation_names_its_operator",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("quarantine_reason", ""), ("quarantined_at", None), ("quarantined_by", "")),
                            models.Q(
                                ("quarantined_at__isnull", False),
                                models.Q(("quarantined_by", ""), _negated=True),
                                models.Q(("quarantine_reason", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="quarantined_conversation_says_who_and_why",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("budget_micro_usd__isnull", True),
                                ("delegating_turn_id__isnull", True),
                                ("hops", 0),
                                ("parent__isnull", True),
                            ),
                            models.Q(
                                ("delegating_turn_id__isnull", False),
                                ("hops__gt", 0),
                                ("hops__lte", 2),
                                ("parent__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="delegated_conversation_names_its_delegating_turn",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("proven_at__isnull", True), ("proven_key_id__isnull", True)),
                            models.Q(
                                ("proven_at__isnull", False),
                                ("proven_key_id__isnull", False),
                                models.Q(("end_user_key", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="proven_conversation_names_its_customer_and_the_key",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("rated_at__isnull", True), ("rating__isnull", True), ("rating_comment", "")),
                            models.Q(
                                ("rated_at__isnull", False),
                                ("rating__gte", 1),
                                ("rating__lte", 5),
                                models.Q(("status", "open"), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="ended_conversation_is_rated_from_1_to_5",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("rating_comment", ""), ("off_the_record", False), _connector="OR"),
                        name="off_the_record_conversation_has_no_comment",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("member_user_id__isnull", True),
                            models.Q(
                                models.Q(("status", "resolved"), _negated=True),
                                ("channel__in", ["console", "playground"]),
                                ("end_user_key", ""),
                                ("follows__isnull", True),
                                ("origin", "live"),
                                ("parent__isnull", True),
                                ("rating__isnull", True),
                                ("taken_over_at__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="talk_of_a_member_is_no_customers_conversation",
                        violation_error_message="This is a member's talk with an assistant, so it cannot have values of a customer's conversation.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("channel", "playground"), _negated=True),
                            models.Q(("member_user_id__isnull", False), ("off_the_record", True)),
                            _connector="OR",
                        ),
                        name="trial_is_a_persons_own_and_off_the_record",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("has_external_agent", False),
                            models.Q(("member_user_id__isnull", True), ("origin", "live"), ("parent__isnull", True)),
                            _connector="OR",
                        ),
                        name="external_agent_answers_only_customers",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("trial_proposal_id__isnull", True), ("channel", "playground"), _connector="OR"
                        ),
                        name="trial_proposal_is_only_in_the_playground",
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="InboundEvent",
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
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="events",
                        to="conversations.conversation",
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("message", "Message"),
                            ("operator", "Operator"),
                            ("schedule", "Schedule"),
                            ("task", "Task"),
                            ("answer", "Answer"),
                            ("progress", "Progress"),
                        ],
                        default="message",
                        max_length=10,
                    ),
                ),
                ("idempotency_key", models.CharField(max_length=200)),
                ("sender_name", models.CharField(blank=True, max_length=120)),
                (
                    "line_key",
                    models.CharField(
                        blank=True, help_text="The line of the channel on which it came in.", max_length=80
                    ),
                ),
                (
                    "sent_by",
                    models.CharField(
                        blank=True,
                        editable=False,
                        help_text="The person or agent that sent it; blank for a customer's message.",
                        max_length=200,
                    ),
                ),
                ("text", models.TextField()),
                ("text_sha256", models.CharField(max_length=64)),
                ("received_at", models.DateTimeField(auto_now_add=True)),
                (
                    "due_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        editable=False,
                        help_text="When a turn may take it. A burst of messages is answered together.",
                    ),
                ),
                (
                    "max_steps",
                    models.PositiveSmallIntegerField(
                        help_text="Highest number of model calls in the turn that answers; empty: the limit of the agent or channel.",
                        null=True,
                    ),
                ),
                ("turn_id", models.BigIntegerField(db_index=True, null=True)),
                (
                    "is_in_transcript",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        editable=False,
                        help_text="Set if its message was written before its turn ended, because the turn is delayed or a person answers.",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "indexes": [
                    models.Index(condition=models.Q(("turn_id__isnull", True)), fields=["id"], name="event_waiting"),
                    models.Index(
                        condition=models.Q(("kind", "message")),
                        fields=["tenant", "conversation", "received_at"],
                        name="customer_message_by_time",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "conversation", "idempotency_key"), name="event_arrives_once_per_key"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("max_steps__isnull", True), ("max_steps__range", (1, 40)), _connector="OR"),
                        name="event_max_steps_is_in_range",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("kind", "message"), _negated=True), ("sent_by", ""), _connector="OR"
                        ),
                        name="customer_message_has_no_sent_by",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Message",
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
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="messages",
                        to="conversations.conversation",
                    ),
                ),
                ("position", models.PositiveIntegerField()),
                (
                    "sender",
                    models.CharField(
                        choices=[
                            ("customer", "Customer"),
                            ("operator", "Operator"),
                            ("agent", "Agent"),
                            ("peer", "Another agent"),
                            ("tool", "Tool"),
                        ],
                        max_length=10,
                    ),
                ),
                ("text", models.TextField(blank=True)),
                ("tool_calls", models.JSONField(default=list)),
                ("api_message", models.JSONField(null=True)),
                ("turn_id", models.BigIntegerField(db_index=True, null=True)),
                (
                    "is_reply",
                    models.BooleanField(
                        default=False, editable=False, help_text="Whether this is the turn's reply to the customer."
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["conversation_id", "position"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "conversation", "position"), name="message_has_its_own_position"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("is_reply", True)), fields=("tenant", "turn_id"), name="turn_replies_once"
                    ),
                ],
            },
        ),
    ]
