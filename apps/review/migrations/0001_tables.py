import django.db.models.deletion
import django.db.models.functions.datetime
import django_fsm
from django.conf import settings
from django.db import migrations, models

import apps.governance.stored_text
from apps.governance.database.migration_operations import TableMigration


class Migration(TableMigration):
    initial = True

    dependencies = [
        ("governance", "0001_tables"),
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
                (
                    "verb",
                    models.CharField(
                        choices=[("approve", "Approve"), ("reject", "Reject"), ("rebase", "Rebase")], max_length=10
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        blank=True,
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
                        help_text="Empty if they are of several kinds.",
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
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
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
                (
                    "read_version",
                    models.PositiveIntegerField(help_text="The version of the proposal that the person read."),
                ),
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
                        fields=("tenant", "decision", "proposal_id"), name="proposal_is_in_a_bulk_decision_once"
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
                    models.TextField(
                        blank=True,
                        validators=[apps.governance.stored_text.validate_storable_text],
                        verbose_name="comment",
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[("active", "Active"), ("withdrawn", "Withdrawn")], default="active", max_length=10
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
                            models.Q(("status", "active"), models.Q(("text", ""), _negated=True)),
                            models.Q(("status", "withdrawn"), ("text", "")),
                            _connector="OR",
                        ),
                        name="comment_has_text_until_it_is_withdrawn",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("author", ""), _negated=True), name="comment_names_its_author"
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
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
                    "quota_slot",
                    models.PositiveSmallIntegerField(
                        help_text="Each filter of a person takes one slot, which limits their number."
                    ),
                ),
                ("name", models.CharField(max_length=60)),
                (
                    "query",
                    models.CharField(
                        help_text="The query string of the inbox's URL, without the question mark.", max_length=1000
                    ),
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
                    models.UniqueConstraint(
                        fields=("tenant", "user", "quota_slot"), name="person_uses_a_quota_slot_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("quota_slot__gte", 1), ("quota_slot__lte", 20)),
                        name="quota_slot_is_within_the_limit",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("name", ""), _negated=True), models.Q(("query", ""), _negated=True)
                        ),
                        name="saved_filter_has_a_name_and_a_query",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("query__regex", "(^|&)p="), _negated=True),
                        name="saved_filter_names_no_page",
                    ),
                ],
            },
        ),
    ]
