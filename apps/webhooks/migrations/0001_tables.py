import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import django_fsm
from django.db import migrations, models

import apps.governance.text
import apps.tenants.endpoint_models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("conversations", "0012_walls_of_proofs"),
        ("tenants", "0024_walls_of_proofs"),
    ]

    operations = [
        migrations.CreateModel(
            name="Webhook",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
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
                ("title", models.CharField(max_length=120, validators=[apps.governance.text.plain_text])),
                (
                    "url",
                    models.CharField(
                        help_text="Such as https://example.com/preceptor. Redirects are not followed.",
                        max_length=300,
                        validators=[apps.governance.text.plain_text, apps.tenants.endpoint_models.reachable],
                        verbose_name="address",
                    ),
                ),
                (
                    "is_active",
                    models.BooleanField(
                        default=True,
                        help_text="Off: nothing new is noted for it, and what waits stays.",
                        verbose_name="active",
                    ),
                ),
                (
                    "on_reply",
                    models.BooleanField(
                        default=True, help_text="Whatever is said to a customer.", verbose_name="replies"
                    ),
                ),
                (
                    "on_draft",
                    models.BooleanField(
                        default=False, help_text="A reply that waits for a person.", verbose_name="drafts"
                    ),
                ),
                (
                    "on_escalation",
                    models.BooleanField(default=False, help_text="A question to a person.", verbose_name="escalations"),
                ),
                (
                    "on_resolved",
                    models.BooleanField(
                        default=False, help_text="A conversation that was resolved.", verbose_name="ends"
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
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
            ],
            options={
                "ordering": ["key"],
                "abstract": False,
                "base_manager_name": "objects",
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "event",
                    models.CharField(
                        choices=[
                            ("reply", "reply"),
                            ("draft", "draft"),
                            ("escalation", "escalation"),
                            ("resolved", "resolved"),
                        ],
                        max_length=12,
                    ),
                ),
                (
                    "subject_id",
                    models.BigIntegerField(help_text="Which message, draft, escalation or conversation it is about."),
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
                ("tries", models.PositiveSmallIntegerField(db_default=0)),
                ("next_try_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("lease_until", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("fence", models.PositiveIntegerField(db_default=0)),
                (
                    "answered",
                    models.PositiveSmallIntegerField(help_text="The HTTP status of the last answer.", null=True),
                ),
                (
                    "failure",
                    models.CharField(
                        db_default="", help_text="What the last try came to, where it failed.", max_length=40
                    ),
                ),
                ("delivered_at", models.DateTimeField(null=True)),
                ("sent_again_by", models.CharField(db_default="", max_length=200)),
                (
                    "conversation",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="conversations.conversation",
                    ),
                ),
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
            ],
            options={
                "verbose_name_plural": "deliveries",
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="WebhookHealth",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "failures",
                    models.PositiveIntegerField(db_default=0, help_text="In a row; 0 once it took something."),
                ),
                ("failing_since", models.DateTimeField(null=True)),
                ("rests_until", models.DateTimeField(null=True)),
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
            ],
        ),
        migrations.AddConstraint(
            model_name="webhook",
            constraint=models.UniqueConstraint(
                fields=("tenant", "key"),
                name="webhook_key_is_unique_in_tenant",
                violation_error_message="There is a webhook with this key in the tenant already. Choose another key.",
            ),
        ),
        migrations.AddConstraint(
            model_name="webhook",
            constraint=models.CheckConstraint(
                condition=models.Q(("key__regex", "^[a-z0-9]+(?:-[a-z0-9]+)*\\Z")), name="webhook_key_is_lower_case"
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("status", "waiting")),
                fields=["tenant", "webhook", "conversation", "id"],
                name="delivery_waiting",
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(fields=["tenant", "webhook", "id"], name="delivery_of_webhook"),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("delivered_at__isnull", False), ("status", "delivered")),
                    models.Q(models.Q(("status", "delivered"), _negated=True), ("delivered_at__isnull", True)),
                    _connector="OR",
                ),
                name="delivered_says_when",
            ),
        ),
    ]
