import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import django_fsm
from django.db import migrations, models

import apps.governance.stored_text
import apps.tenants.models.endpoints
from apps.governance.database.migration_operations import TableMigration


class Migration(TableMigration):
    initial = True

    dependencies = [
        ("conversations", "0001_tables"),
        ("tenants", "0001_tables"),
    ]

    operations = [
        migrations.CreateModel(
            name="Webhook",
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
                    "key",
                    models.CharField(
                        max_length=40,
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
                    "url",
                    models.CharField(
                        help_text="Such as https://example.com/preceptor. Redirects are not followed.",
                        max_length=300,
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            apps.tenants.models.endpoints.validate_reachable_url,
                        ],
                        verbose_name="address",
                    ),
                ),
                (
                    "is_active",
                    models.BooleanField(
                        default=True,
                        help_text="Off: no new events are queued, and waiting deliveries stay.",
                        verbose_name="active",
                    ),
                ),
                (
                    "on_reply",
                    models.BooleanField(default=True, help_text="A message to a customer.", verbose_name="replies"),
                ),
                (
                    "on_draft",
                    models.BooleanField(
                        default=False, help_text="A reply that waits for a person.", verbose_name="drafts"
                    ),
                ),
                (
                    "on_escalation",
                    models.BooleanField(
                        default=False, help_text="A question that an agent asks a person.", verbose_name="escalations"
                    ),
                ),
                (
                    "on_resolved",
                    models.BooleanField(default=False, help_text="A conversation was resolved.", verbose_name="ends"),
                ),
                (
                    "on_learning_version",
                    models.BooleanField(
                        default=False,
                        help_text="A learning version that waits for a person, or went live by itself.",
                        verbose_name="learning versions",
                    ),
                ),
                (
                    "on_distillation",
                    models.BooleanField(
                        default=False,
                        help_text="A distillation of an agent's mid or long tier, with any outcome.",
                        verbose_name="distilled memory",
                    ),
                ),
                (
                    "on_review",
                    models.BooleanField(
                        default=False,
                        help_text="A proposal that waits for a person's decision.",
                        verbose_name="reviews",
                    ),
                ),
                (
                    "secret",
                    models.ForeignKey(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="tenants.sealedsecret",
                    ),
                ),
                (
                    "former_secret",
                    models.ForeignKey(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="tenants.sealedsecret",
                    ),
                ),
            ],
            options={
                "ordering": ["key"],
                "abstract": False,
                "base_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "key"),
                        name="webhook_key_is_unique_in_tenant",
                        violation_error_message="There is a webhook with this key in the tenant already. Choose another key.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("key__regex", "^[a-z0-9]+(?:-[a-z0-9]+)*\\Z")),
                        name="webhook_key_is_lower_case",
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="Delivery",
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
                    "webhook",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="deliveries",
                        to="webhooks.webhook",
                    ),
                ),
                (
                    "conversation",
                    models.ForeignKey(
                        db_index=False,
                        help_text="Null for an event outside a conversation.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="conversations.conversation",
                    ),
                ),
                (
                    "event",
                    models.CharField(
                        choices=[
                            ("reply", "reply"),
                            ("draft", "draft"),
                            ("escalation", "escalation"),
                            ("resolved", "resolved"),
                            ("learning_version", "learning_version"),
                            ("distillation", "distillation"),
                            ("review", "review"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "subject_id",
                    models.BigIntegerField(
                        help_text="The id of the message, draft, escalation, conversation, version, run or proposal."
                    ),
                ),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "status",
                    models.CharField(
                        choices=[("waiting", "Waiting"), ("delivered", "Delivered"), ("dead", "Dead")],
                        db_default="waiting",
                        max_length=10,
                    ),
                ),
                ("attempts", models.PositiveSmallIntegerField(db_default=0)),
                ("next_attempt_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("lease_until", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("fence", models.PositiveIntegerField(db_default=0)),
                (
                    "http_status",
                    models.PositiveSmallIntegerField(help_text="The status of the last response.", null=True),
                ),
                (
                    "failure_code",
                    models.CharField(
                        db_default="", help_text="The error of the last attempt, if it failed.", max_length=40
                    ),
                ),
                ("delivered_at", models.DateTimeField(null=True)),
                ("replayed_by", models.CharField(db_default="", max_length=200)),
            ],
            options={
                "verbose_name_plural": "deliveries",
                "ordering": ["-id"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("status", "waiting")),
                        fields=["tenant", "webhook", "conversation", "id"],
                        name="delivery_waiting",
                    ),
                    models.Index(fields=["tenant", "webhook", "id"], name="delivery_of_webhook"),
                    models.Index(condition=models.Q(("status", "dead")), fields=["tenant", "id"], name="delivery_dead"),
                    models.Index(
                        condition=models.Q(("status", "delivered")),
                        fields=["tenant", "webhook", "delivered_at"],
                        name="delivery_delivered",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("delivered_at__isnull", False), ("status", "delivered")),
                            models.Q(models.Q(("status", "delivered"), _negated=True), ("delivered_at__isnull", True)),
                            _connector="OR",
                        ),
                        name="delivered_delivery_has_a_delivery_time",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("conversation__isnull", True),
                                ("event__in", ["distillation", "learning_version", "review"]),
                            ),
                            models.Q(
                                models.Q(("event__in", ["distillation", "learning_version", "review"]), _negated=True),
                                ("conversation__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="delivery_names_its_conversation",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("event", "review")),
                        fields=("tenant", "webhook", "subject_id"),
                        name="review_has_one_delivery_per_webhook",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="WebhookHealth",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                (
                    "webhook",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="health", to="webhooks.webhook"
                    ),
                ),
                (
                    "consecutive_failures",
                    models.PositiveIntegerField(db_default=0, help_text="Failures in a row; 0 after a success."),
                ),
                ("failing_since", models.DateTimeField(null=True)),
                ("paused_until", models.DateTimeField(null=True)),
            ],
        ),
    ]
