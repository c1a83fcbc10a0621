import django.db.models.deletion
import django_fsm
from django.db import migrations, models

import apps.governance.text
from apps.governance.database import TableMigration


class Migration(TableMigration):
    initial = True

    dependencies = [
        ("governance", "0001_tables"),
        ("tenants", "0001_tables"),
    ]

    operations = [
        migrations.CreateModel(
            name="Comment",
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
                    "proposal",
                    models.ForeignKey(
                        editable=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="comments",
                        to="governance.proposal",
                    ),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.agent",
                    ),
                ),
                (
                    "text",
                    models.TextField(blank=True, validators=[apps.governance.text.plain_text], verbose_name="comment"),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[("stands", "Stands"), ("withdrawn", "Withdrawn")], default="stands", max_length=10
                    ),
                ),
                ("author", models.CharField(editable=False, max_length=200)),
            ],
            options={
                "ordering": ["-id"],
                "abstract": False,
                "base_manager_name": "objects",
                "indexes": [
                    models.Index(fields=["tenant", "proposal", "id"], name="comment_by_proposal"),
                    models.Index(fields=["tenant", "status", "id"], name="comment_by_status"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status", "stands"), models.Q(("text", ""), _negated=True)),
                            models.Q(("status", "withdrawn"), ("text", "")),
                            _connector="OR",
                        ),
                        name="comment_says_something_until_it_is_withdrawn",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("author", ""), _negated=True), name="comment_names_its_author"
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
    ]
