import django.db.models.deletion
import django_fsm
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("lessons", "0007_withdrawn"),
        ("tenants", "0036_shows_examples"),
    ]

    operations = [
        migrations.CreateModel(
            name="Example",
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
                ("situation", models.TextField(verbose_name="what was asked")),
                ("draft", models.TextField(verbose_name="the draft that was wrong")),
                ("correction", models.TextField(verbose_name="what to write instead")),
                (
                    "masked",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        editable=False,
                        help_text="How often what of each kind was masked when it was kept.",
                    ),
                ),
                (
                    "telling_words",
                    models.JSONField(
                        blank=True,
                        default=list,
                        editable=False,
                        help_text="By which words of a message it is found again.",
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[("approved", "Approved"), ("retired", "Retired")],
                        default="approved",
                        max_length=10,
                    ),
                ),
                ("approved_by", models.CharField(editable=False, max_length=200)),
                ("approved_at", models.DateTimeField(editable=False)),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.agent"
                    ),
                ),
                (
                    "lesson",
                    models.ForeignKey(
                        editable=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="examples",
                        to="lessons.lesson",
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
                "ordering": ["-id"],
                "abstract": False,
                "base_manager_name": "objects",
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.AddConstraint(
            model_name="example",
            constraint=models.UniqueConstraint(
                condition=models.Q(("status", "approved")),
                fields=("tenant", "lesson"),
                name="lesson_is_one_example",
                violation_error_message="This lesson is an example already. Retire that one to keep other words.",
            ),
        ),
        migrations.AddConstraint(
            model_name="example",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("situation", ""), _negated=True),
                    models.Q(("draft", ""), _negated=True),
                    models.Q(("correction", ""), _negated=True),
                ),
                name="example_says_all_three",
            ),
        ),
        migrations.AddConstraint(
            model_name="example",
            constraint=models.CheckConstraint(
                condition=models.Q(("approved_by", ""), _negated=True), name="example_names_who_kept_it"
            ),
        ),
    ]
