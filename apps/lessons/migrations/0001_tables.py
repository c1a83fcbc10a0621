import django.db.models.deletion
import django_fsm
from django.db import migrations, models

from apps.governance.database import TableMigration


class Migration(TableMigration):
    initial = True

    dependencies = [
        ("conversations", "0001_tables"),
        ("tenants", "0001_tables"),
    ]

    operations = [
        migrations.CreateModel(
            name="EditCluster",
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
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.agent"
                    ),
                ),
                ("key", models.TextField(editable=False, help_text="The change by its words, masked.")),
                ("key_sha256", models.CharField(editable=False, max_length=64)),
                (
                    "habit",
                    models.CharField(
                        editable=False, help_text="The change and its matter, by the house's names.", max_length=60
                    ),
                ),
                ("removed", models.TextField(blank=True, editable=False)),
                ("added", models.TextField(blank=True, editable=False)),
                (
                    "status",
                    models.CharField(
                        choices=[("open", "Open"), ("proposed", "Proposed"), ("dismissed", "Dismissed")],
                        default="open",
                        max_length=10,
                    ),
                ),
                ("reason", models.TextField(blank=True, verbose_name="why it is dismissed")),
                ("dismissed_count", models.PositiveIntegerField(default=0, editable=False)),
                ("proposal_id", models.BigIntegerField(editable=False, null=True)),
                ("decided_by", models.CharField(blank=True, editable=False, max_length=200)),
                ("decided_at", models.DateTimeField(editable=False, null=True)),
            ],
            options={
                "ordering": ["-id"],
                "abstract": False,
                "base_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "agent", "key_sha256"), name="edit_cluster_of_an_agent_is_kept_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status", "dismissed"), _negated=True),
                            models.Q(("reason", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="dismissed_edit_cluster_says_why",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status", "proposed"), _negated=True),
                            ("proposal_id__isnull", False),
                            _connector="OR",
                        ),
                        name="proposed_edit_cluster_names_its_proposal",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("status", "open"), models.Q(("decided_by", ""), _negated=True), _connector="OR"
                        ),
                        name="settled_edit_cluster_names_who_did",
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="LearningVersion",
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
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.agent"
                    ),
                ),
                ("number", models.PositiveIntegerField(editable=False)),
                (
                    "previous_version",
                    models.ForeignKey(
                        db_constraint=False,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="lessons.learningversion",
                    ),
                ),
                ("body", models.TextField(editable=False)),
                ("change_summary", models.TextField(editable=False)),
                ("lesson_ids", models.JSONField(default=list, editable=False, help_text="The lessons it rests on.")),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "Waits for a person"),
                            ("active", "Active"),
                            ("retired", "Retired"),
                            ("rejected", "Rejected"),
                            ("withdrawn", "Withdrawn"),
                        ],
                        default="pending",
                        max_length=10,
                    ),
                ),
                ("approved_by", models.CharField(blank=True, editable=False, max_length=200)),
                ("approved_at", models.DateTimeField(editable=False, null=True)),
            ],
            options={
                "ordering": ["-id"],
                "abstract": False,
                "base_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("status", "active")),
                        fields=("tenant", "agent"),
                        name="agent_reads_one_learning_version",
                        violation_error_message="Another version of this agent became active meanwhile. Look again.",
                    ),
                    models.UniqueConstraint(
                        fields=("tenant", "agent", "number"), name="learning_versions_are_numbered"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("body", ""), _negated=True), name="learning_version_says_something"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("approved_at__isnull", True), ("approved_by", "")),
                            models.Q(models.Q(("approved_by", ""), _negated=True), ("approved_at__isnull", False)),
                            _connector="OR",
                        ),
                        name="approved_learning_version_says_when",
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="Lesson",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.agent"
                    ),
                ),
                ("situation", models.TextField()),
                ("went_wrong", models.TextField()),
                ("instead", models.TextField(blank=True)),
                (
                    "source",
                    models.CharField(
                        choices=[
                            ("edited_draft", "A draft was sent in other words"),
                            ("discarded_draft", "A draft was discarded"),
                            ("answered_escalation", "A question was answered"),
                            ("dead_turn", "A turn gave no answer"),
                            ("rejected_proposal", "A proposal was rejected"),
                            ("rejected_version", "A learning version was rejected or withdrawn"),
                            ("reported_reply", "A reply was reported as wrong"),
                        ],
                        max_length=20,
                        verbose_name="first seen when",
                    ),
                ),
                ("dedup_key", models.CharField(max_length=64)),
                ("support_count", models.PositiveIntegerField(default=1, verbose_name="cases")),
                ("confidence", models.FloatField()),
                ("last_seen_at", models.DateTimeField()),
                ("noted_at", models.DateTimeField(help_text="When a case was last written down.")),
                (
                    "digested_in",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="lessons.learningversion",
                    ),
                ),
            ],
            options={
                "ordering": ["-support_count", "-last_seen_at", "-id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "agent", "dedup_key"), name="lesson_of_an_agent_is_kept_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("confidence__gt", 0), ("confidence__lt", 1)),
                        name="lesson_is_never_quite_sure",
                    ),
                    models.CheckConstraint(condition=models.Q(("support_count__gt", 0)), name="lesson_has_a_case"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Example",
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
                        choices=[("approved", "Approved"), ("retired", "Retired")], default="approved", max_length=10
                    ),
                ),
                ("approved_by", models.CharField(editable=False, max_length=200)),
                ("approved_at", models.DateTimeField(editable=False)),
            ],
            options={
                "ordering": ["-id"],
                "abstract": False,
                "base_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("status", "approved")),
                        fields=("tenant", "lesson"),
                        name="lesson_is_one_example",
                        violation_error_message="This lesson is an example already. Retire that one to keep other words.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("situation", ""), _negated=True),
                            models.Q(("draft", ""), _negated=True),
                            models.Q(("correction", ""), _negated=True),
                        ),
                        name="example_says_all_three",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("approved_by", ""), _negated=True), name="example_names_who_kept_it"
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="LessonCase",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.agent"
                    ),
                ),
                (
                    "lesson",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="cases",
                        to="lessons.lesson",
                    ),
                ),
                (
                    "source",
                    models.CharField(
                        choices=[
                            ("edited_draft", "A draft was sent in other words"),
                            ("discarded_draft", "A draft was discarded"),
                            ("answered_escalation", "A question was answered"),
                            ("dead_turn", "A turn gave no answer"),
                            ("rejected_proposal", "A proposal was rejected"),
                            ("rejected_version", "A learning version was rejected or withdrawn"),
                            ("reported_reply", "A reply was reported as wrong"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "source_id",
                    models.BigIntegerField(
                        help_text="Which draft, escalation, turn, proposal, learning version or report."
                    ),
                ),
                (
                    "conversation",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="conversations.conversation",
                    ),
                ),
                ("nothing_because", models.TextField(blank=True, help_text="Why it taught nothing, where it did not.")),
                ("happened_at", models.DateTimeField()),
                ("noted_at", models.DateTimeField()),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "source", "source_id"), name="source_is_looked_at_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("lesson__isnull", False), ("nothing_because", "")),
                            models.Q(("lesson__isnull", True), models.Q(("nothing_because", ""), _negated=True)),
                            _connector="OR",
                        ),
                        name="case_teaches_something_or_says_why_not",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="EditMember",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="members", to="lessons.editcluster"
                    ),
                ),
                (
                    "case",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="lessons.lessoncase"
                    ),
                ),
                ("noted_at", models.DateTimeField()),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "cluster", "case"), name="draft_counts_once_for_a_cluster"
                    )
                ],
            },
        ),
    ]
