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
            name="ToolServer",
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
                        help_text="Prefix of its tools' names: crm makes crm__find_order.",
                        max_length=24,
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
                        help_text="Such as https://tools.example/mcp. Another host, port or scheme deletes the headers. Enter them again then.",
                        max_length=300,
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            apps.tenants.models.endpoints.validate_reachable_url,
                        ],
                        verbose_name="address",
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
                    "is_active",
                    models.BooleanField(
                        default=True,
                        help_text="Off: no agent is offered any of its tools or can call them.",
                        verbose_name="active",
                    ),
                ),
                (
                    "timeout_seconds",
                    models.PositiveIntegerField(
                        default=20,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(30),
                        ],
                        verbose_name="seconds",
                    ),
                ),
                (
                    "max_result_bytes",
                    models.PositiveIntegerField(
                        default=20000,
                        help_text="A longer result is cut, and the agent is told that it was.",
                        validators=[
                            django.core.validators.MinValueValidator(500),
                            django.core.validators.MaxValueValidator(50000),
                        ],
                        verbose_name="longest result, in bytes",
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
                        name="tool_server_key_is_unique_in_tenant",
                        violation_error_message="There is a tool server with this key already. Choose another key.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("key__regex", "^[a-z0-9]+(?:-[a-z0-9]+)*\\Z")),
                        name="tool_server_key_is_lower_case",
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="ToolListing",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                (
                    "server",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="listing", to="tools.toolserver"
                    ),
                ),
                ("due_at", models.DateTimeField(db_index=True)),
                ("listed_at", models.DateTimeField(null=True)),
                ("protocol_version", models.CharField(blank=True, max_length=20)),
                ("failure", models.CharField(blank=True, max_length=300)),
            ],
        ),
        migrations.CreateModel(
            name="ServerTool",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                (
                    "server",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="tools", to="tools.toolserver"
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("qualified_name", models.CharField(max_length=64)),
                ("definition", models.JSONField(null=True)),
                ("sha256", models.CharField(blank=True, max_length=64)),
                ("validation_error", models.CharField(blank=True, max_length=300)),
                ("is_listed", models.BooleanField(default=True)),
                ("updated_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "ordering": ["qualified_name"],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "server", "name"), name="tool_is_listed_once"),
                    models.UniqueConstraint(
                        fields=("tenant", "qualified_name"), name="tool_has_a_unique_qualified_name"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("definition__isnull", False), ("validation_error", "")),
                            models.Q(("validation_error", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="tool_is_defined_or_says_why_not",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="AgentTool",
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
                    "tool",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="allowed", to="tools.servertool"
                    ),
                ),
                (
                    "needs_approval",
                    models.BooleanField(
                        default=True,
                        help_text="Can be off only for a tool that its server declares read-only.",
                        verbose_name="each call waits for a person",
                    ),
                ),
                ("definition", models.JSONField(editable=False)),
                ("sha256", models.CharField(editable=False, max_length=64)),
            ],
            options={
                "ordering": ["agent_id", "id"],
                "abstract": False,
                "base_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "agent", "tool"),
                        name="agent_is_allowed_a_tool_once",
                        violation_error_message="The agent may call this tool already.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("needs_approval", True), ("definition__is_read_only", True), _connector="OR"
                        ),
                        name="writing_tool_needs_approval",
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="ToolApproval",
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
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="conversations.conversation"
                    ),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.agent"
                    ),
                ),
                ("tool_name", models.CharField(editable=False, max_length=64)),
                ("arguments", models.JSONField(editable=False)),
                ("call_sha256", models.CharField(editable=False, max_length=64)),
                ("turn_id", models.BigIntegerField(editable=False, null=True)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("approved", "Approved"),
                            ("refused", "Refused"),
                            ("consumed", "Consumed"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                (
                    "reason",
                    models.TextField(
                        blank=True,
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(1000),
                        ],
                        verbose_name="why not",
                    ),
                ),
                ("decided_by", models.CharField(blank=True, editable=False, max_length=200)),
                ("decided_at", models.DateTimeField(editable=False, null=True)),
            ],
            options={
                "ordering": ["-id"],
                "abstract": False,
                "base_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("status__in", ["waiting", "approved"])),
                        fields=("tenant", "conversation", "call_sha256"),
                        name="call_has_one_open_approval",
                        violation_error_message="This call is waiting for approval already.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("status", "waiting"), models.Q(("decided_by", ""), _negated=True), _connector="OR"
                        ),
                        name="decided_call_names_who_decided",
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
    ]
