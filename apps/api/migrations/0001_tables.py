import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from apps.governance.database.migration_operations import TableMigration


class Migration(TableMigration):
    initial = True

    dependencies = [
        ("tenants", "0001_tables"),
    ]

    operations = [
        migrations.CreateModel(
            name="IdempotencyRecord",
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
                    "caller",
                    models.CharField(help_text="The caller whose key it is: agent:7 or member:3.", max_length=40),
                ),
                ("key", models.CharField(max_length=200)),
                ("request_sha256", models.CharField(max_length=64)),
                (
                    "status",
                    models.PositiveSmallIntegerField(
                        db_default=0, help_text="HTTP status; 0 while there is no response."
                    ),
                ),
                (
                    "body",
                    models.TextField(
                        db_default="", help_text="JSON; empty where the text may have to be erased later."
                    ),
                ),
                (
                    "row_id",
                    models.BigIntegerField(
                        help_text="The row of the response, which is read again for a repeated request.", null=True
                    ),
                ),
                ("location", models.CharField(db_default="", max_length=200)),
                ("claimed_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("expires_at", models.DateTimeField()),
            ],
            options={
                "indexes": [models.Index(fields=["expires_at"], name="idempotency_record_by_expiry")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "caller", "key"), name="caller_uses_an_idempotency_key_once"
                    )
                ],
            },
        ),
    ]
