import django.core.validators
import django.db.models.deletion
import django.db.models.functions.text
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
            name="AgentMemory",
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
                    "body",
                    models.TextField(
                        blank=True,
                        help_text="Markdown. An update replaces the whole body.",
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(20000),
                        ],
                    ),
                ),
                (
                    "approved_body",
                    models.TextField(blank=True, editable=False, help_text="The lines a person wrote or approved."),
                ),
                ("line_dates", models.JSONField(blank=True, default=dict, editable=False)),
                ("updated_by", models.CharField(default="agent", editable=False, max_length=200)),
            ],
            options={
                "verbose_name_plural": "agent memories",
                "abstract": False,
                "base_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "agent"),
                        name="agent_has_one_memory",
                        violation_error_message="This agent has a memory already. Change that one.",
                    )
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="CustomerProfile",
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
                    "end_user_key",
                    models.CharField(
                        help_text="Channel and id: slack:U12345.",
                        max_length=200,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[a-z][a-z0-9_-]*:\\S{1,160}\\Z",
                                "An end user's key is the channel, a colon and the channel's id, such as slack:U12345.",
                            ),
                            apps.governance.stored_text.validate_storable_text,
                        ],
                    ),
                ),
                (
                    "preferences",
                    models.TextField(
                        blank=True,
                        help_text="JSON or markdown.",
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(8000),
                        ],
                    ),
                ),
                (
                    "notes",
                    models.TextField(
                        blank=True,
                        help_text="Prose.",
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(8000),
                        ],
                    ),
                ),
                (
                    "line_dates",
                    models.JSONField(
                        blank=True, db_default=models.Value({}, models.JSONField()), default=dict, editable=False
                    ),
                ),
                ("last_seen_at", models.DateTimeField()),
                ("updated_by", models.CharField(default="agent", editable=False, max_length=200)),
            ],
            options={
                "ordering": ["-last_seen_at", "-id"],
                "abstract": False,
                "base_manager_name": "objects",
                "indexes": [models.Index(fields=["tenant", "-last_seen_at", "-id"], name="customer_seen_lately")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "end_user_key"),
                        name="customer_has_one_profile",
                        violation_error_message="There is a profile for this customer already. Change that one.",
                    )
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="MemoryBlock",
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
                    "label",
                    models.CharField(
                        help_text="Such as BusinessFacts, Preferences or PersonaBelief.",
                        max_length=60,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[A-Za-z][A-Za-z0-9]*(?:[ _-][A-Za-z0-9]+)*\\Z",
                                "A label is one or more words of letters and digits, such as BusinessFacts or opening-hours.",
                            )
                        ],
                    ),
                ),
                (
                    "body",
                    models.TextField(
                        blank=True,
                        help_text="Markdown. An update replaces the whole body.",
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(8000),
                        ],
                    ),
                ),
                (
                    "approved_body",
                    models.TextField(blank=True, editable=False, help_text="The lines a person wrote or approved."),
                ),
                ("line_dates", models.JSONField(blank=True, default=dict, editable=False)),
                (
                    "is_read_only",
                    models.BooleanField(
                        default=False,
                        help_text="On: the agent reads it and cannot change it.",
                        verbose_name="read only",
                    ),
                ),
                (
                    "is_pinned",
                    models.BooleanField(
                        default=False,
                        help_text="On: the prompt carries it from the next session on. Off: the prompt does not carry it.",
                        verbose_name="pinned",
                    ),
                ),
                ("updated_by", models.CharField(default="agent", editable=False, max_length=200)),
            ],
            options={
                "ordering": ["label", "id"],
                "abstract": False,
                "base_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(
                        models.F("tenant"),
                        models.F("agent"),
                        models.Func(
                            django.db.models.functions.text.Lower("label"),
                            models.Value("[ _-]"),
                            models.Value(""),
                            models.Value("g"),
                            function="regexp_replace",
                        ),
                        name="agent_has_one_block_per_label",
                        violation_error_message="This agent has a block with this label already, in some spelling. Change that one.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("label__regex", "^[A-Za-z][A-Za-z0-9]*(?:[ _-][A-Za-z0-9]+)*\\Z")),
                        name="block_label_is_words",
                        violation_error_message="A label is one or more words of letters and digits, such as BusinessFacts or opening-hours.",
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="MemoryLine",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                ("sha256", models.CharField(max_length=64)),
                ("text", models.TextField()),
                ("author", models.CharField(max_length=200)),
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
                        max_length=20,
                    ),
                ),
                ("source_conversation_id", models.BigIntegerField(null=True)),
                (
                    "first_version",
                    models.PositiveIntegerField(help_text="The version of the text that added the line."),
                ),
                (
                    "last_version",
                    models.PositiveIntegerField(help_text="The version that last changed the line."),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("active", "Active"),
                            ("superseded", "Replaced by another line"),
                            ("removed", "Taken out"),
                        ],
                        default="active",
                        max_length=10,
                    ),
                ),
                (
                    "valid_until",
                    models.DateTimeField(
                        help_text="Expiry: no session that opens then or later carries the line.", null=True
                    ),
                ),
                (
                    "review_after",
                    models.DateTimeField(help_text="Review date: the line is due for review from then on.", null=True),
                ),
                (
                    "superseded_by",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="memory.memoryline"
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.agent"
                    ),
                ),
                (
                    "memory",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="ledger",
                        to="memory.agentmemory",
                    ),
                ),
                (
                    "block",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="ledger",
                        to="memory.memoryblock",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "abstract": False,
                "indexes": [models.Index(fields=["tenant", "agent", "sha256"], name="memory_line_by_sha256")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("status", "active")),
                        fields=("tenant", "memory", "sha256"),
                        name="active_memory_line_is_unique",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("status", "active")),
                        fields=("tenant", "block", "sha256"),
                        name="active_block_line_is_unique",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("block__isnull", True), ("memory__isnull", False)),
                            models.Q(("block__isnull", False), ("memory__isnull", True)),
                            _connector="OR",
                        ),
                        name="memory_line_belongs_to_one_text",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("ended_at__isnull", True), ("status", "active")),
                            models.Q(models.Q(("status", "active"), _negated=True), ("ended_at__isnull", False)),
                            _connector="OR",
                        ),
                        name="ended_memory_line_has_an_end_time",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="MemoryTier",
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
                    "tier",
                    models.CharField(
                        choices=[
                            ("short", "Short: the recent days"),
                            ("mid", "Mid: what lasts for weeks"),
                            ("long", "Long: what lasts"),
                        ],
                        max_length=5,
                    ),
                ),
                (
                    "body",
                    models.TextField(
                        blank=True,
                        help_text="One fact per line, starting with a hyphen. A line that starts with “- !” stays permanently, word for word.",
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(16000),
                        ],
                        verbose_name="text",
                    ),
                ),
                (
                    "facts",
                    models.JSONField(
                        blank=True, default=list, editable=False, help_text="Each fact with its evidence."
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[("active", "Active"), ("pending", "Waits for a person")],
                        default="active",
                        max_length=10,
                    ),
                ),
                ("updated_by", models.CharField(default="system:distiller", editable=False, max_length=200)),
            ],
            options={
                "verbose_name": "memory tier",
                "ordering": ["agent_id", "id"],
                "abstract": False,
                "base_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "agent", "tier"),
                        name="agent_has_one_memory_of_a_tier",
                        violation_error_message="This agent has this tier already.",
                    )
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="ProfileLine",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                ("sha256", models.CharField(max_length=64)),
                ("text", models.TextField()),
                ("author", models.CharField(max_length=200)),
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
                        max_length=20,
                    ),
                ),
                ("source_conversation_id", models.BigIntegerField(null=True)),
                (
                    "first_version",
                    models.PositiveIntegerField(help_text="The version of the text that added the line."),
                ),
                (
                    "last_version",
                    models.PositiveIntegerField(help_text="The version that last changed the line."),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("active", "Active"),
                            ("superseded", "Replaced by another line"),
                            ("removed", "Taken out"),
                        ],
                        default="active",
                        max_length=10,
                    ),
                ),
                (
                    "valid_until",
                    models.DateTimeField(
                        help_text="Expiry: no session that opens then or later carries the line.", null=True
                    ),
                ),
                (
                    "review_after",
                    models.DateTimeField(help_text="Review date: the line is due for review from then on.", null=True),
                ),
                (
                    "superseded_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="memory.profileline",
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "profile",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="ledger", to="memory.customerprofile"
                    ),
                ),
                (
                    "field",
                    models.CharField(choices=[("preferences", "Preferences"), ("notes", "Notes")], max_length=11),
                ),
            ],
            options={
                "ordering": ["-id"],
                "abstract": False,
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("status", "active")),
                        fields=("tenant", "profile", "field", "sha256"),
                        name="active_profile_line_is_unique",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("ended_at__isnull", True), ("status", "active")),
                            models.Q(models.Q(("status", "active"), _negated=True), ("ended_at__isnull", False)),
                            _connector="OR",
                        ),
                        name="ended_profile_line_has_an_end_time",
                    ),
                ],
            },
        ),
    ]
