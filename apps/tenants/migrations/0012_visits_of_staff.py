"""Visits of platform staff."""

import django.core.validators
import django.db.models.deletion
import django_fsm
from django.conf import settings
from django.db import migrations, models

import apps.governance.text


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0011_memory_review"),
    ]

    operations = [
        migrations.AlterField(
            model_name="roletemplate",
            name="role",
            field=models.CharField(
                choices=[
                    ("operator", "operator"),
                    ("admin", "admin"),
                    ("agent", "agent"),
                    ("system", "system"),
                    ("staff", "staff"),
                ],
                max_length=20,
                unique=True,
            ),
        ),
        migrations.CreateModel(
            name="StaffVisit",
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
                    "reason",
                    models.TextField(
                        validators=[apps.governance.text.plain_text, django.core.validators.MaxLengthValidator(500)],
                        verbose_name="why",
                    ),
                ),
                ("until", models.DateTimeField(verbose_name="until at most")),
                ("left_at", models.DateTimeField(blank=True, null=True, verbose_name="left")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "verbose_name": "visit of platform staff",
                "verbose_name_plural": "visits of platform staff",
                "ordering": ["-id"],
                "abstract": False,
                "base_manager_name": "objects",
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("reason", ""), _negated=True), name="visit_says_why")
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
    ]
