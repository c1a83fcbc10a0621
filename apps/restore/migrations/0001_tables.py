import django.core.validators
import django.db.models.deletion
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
            name="Checkpoint",
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
                    "name",
                    models.CharField(
                        help_text="The name that people will look for.",
                        max_length=120,
                        validators=[apps.governance.stored_text.validate_storable_text],
                    ),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        blank=True,
                        help_text="Leave this empty for a moment of the whole tenant.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.agent",
                    ),
                ),
                ("moment", models.DateTimeField()),
                (
                    "reason",
                    models.TextField(
                        blank=True,
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(2000),
                        ],
                    ),
                ),
                ("created_by", models.CharField(editable=False, max_length=200)),
            ],
            options={
                "ordering": ["-moment", "-id"],
                "abstract": False,
                "base_manager_name": "objects",
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
    ]
