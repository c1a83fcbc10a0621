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
        ("tenants", "0001_tables"),
    ]

    operations = [
        migrations.CreateModel(
            name="Note",
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
                    "kind",
                    models.CharField(
                        choices=[("reminder", "Reminder"), ("task", "Task"), ("scratch", "Scratch")], max_length=10
                    ),
                ),
                (
                    "text",
                    models.TextField(
                        help_text="One to a few lines.",
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(500),
                        ],
                    ),
                ),
                (
                    "due_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="When to start showing a reminder. A task may have a time, a scratch note has none.",
                        null=True,
                        verbose_name="due",
                    ),
                ),
                (
                    "end_user_key",
                    models.CharField(
                        blank=True,
                        help_text="Channel and id, such as slack:U12345: shown only in turns for this customer. Empty: shown in all turns.",
                        max_length=200,
                        validators=[apps.governance.stored_text.validate_storable_text],
                        verbose_name="customer",
                    ),
                ),
                (
                    "conversation",
                    models.ForeignKey(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="conversations.conversation",
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[("open", "Open"), ("done", "Done"), ("dropped", "Dropped")],
                        default="open",
                        max_length=10,
                    ),
                ),
                ("author", models.CharField(editable=False, max_length=200)),
            ],
            options={
                "ordering": ["-id"],
                "abstract": False,
                "base_manager_name": "objects",
                "indexes": [
                    models.Index(
                        condition=models.Q(("status", "open")),
                        fields=["tenant", "agent", "end_user_key"],
                        name="open_note_of_agent",
                    ),
                    models.Index(
                        condition=models.Q(("kind", "scratch"), ("status", "open")),
                        fields=["updated_at"],
                        name="scratch_by_age",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("kind", "reminder"), _negated=True), ("due_at__isnull", False), _connector="OR"
                        ),
                        name="reminder_has_a_due_time",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("kind", "scratch"), _negated=True), ("due_at__isnull", True), _connector="OR"
                        ),
                        name="scratch_has_no_due_time",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["reminder", "task", "scratch"])), name="note_has_a_known_kind"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("text", ""), _negated=True), name="note_text_is_not_empty"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("author", ""), _negated=True), name="note_names_its_author"
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
    ]
