import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

from apps.governance.database import TableMigration


class Migration(TableMigration):
    initial = True

    dependencies = [
        ("tenants", "0001_tables"),
        ("tenants", "__first__"),
    ]

    operations = [
        migrations.CreateModel(
            name="SavedFilter",
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
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "place",
                    models.PositiveSmallIntegerField(
                        help_text="Each of a person's filters has one, so they cannot be more."
                    ),
                ),
                ("name", models.CharField(max_length=60)),
                (
                    "query",
                    models.CharField(help_text="What stands in the address behind the question mark.", max_length=1000),
                ),
                ("is_shared", models.BooleanField()),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "ordering": ["name", "id"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("is_shared", True)), fields=["tenant"], name="shared_filter_of_tenant"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "user", "name"), name="person_names_a_filter_once"),
                    models.UniqueConstraint(fields=("tenant", "user", "place"), name="filters_of_a_person_have_places"),
                    models.CheckConstraint(
                        condition=models.Q(("place__gte", 1), ("place__lte", 20)), name="person_keeps_so_many_filters"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("name", ""), _negated=True), models.Q(("query", ""), _negated=True)
                        ),
                        name="saved_filter_says_what",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("query__regex", "(^|&)p="), _negated=True),
                        name="saved_filter_names_no_page",
                    ),
                ],
            },
        ),
    ]
