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
            name="BulkDecision",
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
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("verb", models.CharField(choices=[("approve", "Approve"), ("reject", "Reject")], max_length=10)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("persona.patch", "Persona patch"),
                            ("persona.fields", "Persona sections"),
                            ("skill.new", "New skill"),
                            ("skill.revision", "Skill revision"),
                            ("skill.deprecation", "Skill deprecation"),
                            ("memory.lines", "New memory lines"),
                            ("memory.body", "Memory"),
                            ("block.lines", "New memory block lines"),
                            ("block.body", "Memory block"),
                            ("profile.change", "Customer profile"),
                            ("rule.lines", "New rules"),
                            ("rule.change", "Change of a rule"),
                        ],
                        max_length=30,
                    ),
                ),
                ("reason", models.TextField(db_default="")),
                (
                    "reason_code",
                    models.CharField(
                        choices=[
                            ("wrong", "Wrong"),
                            ("duplicate", "Says what is there already"),
                            ("unsafe", "Unsafe"),
                            ("against_policy", "Against policy"),
                            ("not_useful", "Not useful"),
                            ("wrong_tone", "Wrong tone"),
                            ("other", "Other"),
                        ],
                        db_default="",
                        max_length=20,
                    ),
                ),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [models.Index(fields=["tenant", "user", "id"], name="bulk_decision_of_person")],
            },
        ),
        migrations.CreateModel(
            name="BulkItem",
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
                    "decision",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="items",
                        to="review.bulkdecision",
                    ),
                ),
                ("proposal_id", models.BigIntegerField()),
                ("read_at", models.PositiveIntegerField(help_text="The version of the proposal that the person read.")),
                (
                    "state",
                    models.CharField(
                        choices=[("waiting", "Waiting"), ("done", "Done"), ("refused", "Refused")],
                        db_default="waiting",
                        max_length=10,
                    ),
                ),
                ("refusal", models.TextField(db_default="")),
                ("decided_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["id"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "waiting")),
                        fields=["tenant", "decision", "id"],
                        name="bulk_item_waits",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "decision", "proposal_id"), name="proposal_stands_in_a_bulk_decision_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "refused"), models.Q(("refusal", ""), _negated=True)),
                            models.Q(models.Q(("state", "refused"), _negated=True), ("refusal", "")),
                            _connector="OR",
                        ),
                        name="refused_bulk_item_says_why",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("decided_at", None), ("state", "waiting")),
                            models.Q(models.Q(("state", "waiting"), _negated=True), ("decided_at__isnull", False)),
                            _connector="OR",
                        ),
                        name="decided_bulk_item_says_when",
                    ),
                ],
            },
        ),
    ]
