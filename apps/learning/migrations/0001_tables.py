import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import django_fsm
from django.db import migrations, models

import apps.governance.stored_text
from apps.governance.database.migration_operations import TableMigration


class Migration(TableMigration):
    initial = True

    dependencies = [
        ("conversations", "0001_tables"),
        ("skills", "0001_tables"),
        ("tenants", "0001_tables"),
    ]

    operations = [
        migrations.CreateModel(
            name="ContradictionScan",
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
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.agent"
                    ),
                ),
                ("lease_until", models.DateTimeField()),
                (
                    "scan_date",
                    models.DateField(help_text="The latest night whose scan ended, by the tenant's clock.", null=True),
                ),
                ("scanned_at", models.DateTimeField(null=True)),
                (
                    "requested_at",
                    models.DateTimeField(help_text="When a person asked for a scan that has not begun yet.", null=True),
                ),
                ("text_count", models.PositiveIntegerField(default=0)),
                (
                    "pair_count",
                    models.PositiveIntegerField(default=0, help_text="Pairs of statements that were compared."),
                ),
                ("is_complete", models.BooleanField(default=True, help_text="Off: a limit ended the scan.")),
            ],
        ),
        migrations.CreateModel(
            name="DigestClaim",
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
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.agent"
                    ),
                ),
                ("lease_until", models.DateTimeField()),
                ("claimed_at", models.DateTimeField()),
                (
                    "last_digest_at",
                    models.DateTimeField(
                        help_text="Lessons recorded before this were in a finished digest.", null=True
                    ),
                ),
                ("next_attempt_at", models.DateTimeField()),
                (
                    "failures",
                    models.PositiveIntegerField(default=0, help_text="Failed model calls in a row."),
                ),
                (
                    "failure_code",
                    models.CharField(blank=True, help_text="The code of the latest failure.", max_length=40),
                ),
            ],
        ),
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
                ("key", models.TextField(editable=False, help_text="The words of the change, masked.")),
                ("key_sha256", models.CharField(editable=False, max_length=64)),
                (
                    "category",
                    models.CharField(
                        editable=False, help_text="The kind and the topic of the change, as codes.", max_length=60
                    ),
                ),
                ("removed_text", models.TextField(blank=True, editable=False)),
                ("added_text", models.TextField(blank=True, editable=False)),
                (
                    "status",
                    models.CharField(
                        choices=[("open", "Open"), ("proposed", "Proposed"), ("dismissed", "Dismissed")],
                        default="open",
                        max_length=10,
                    ),
                ),
                ("dismissal_reason", models.TextField(blank=True, verbose_name="why it is dismissed")),
                ("count_at_dismissal", models.PositiveIntegerField(default=0, editable=False)),
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
                        fields=("tenant", "agent", "key_sha256"), name="edit_cluster_is_unique_per_agent"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status", "dismissed"), _negated=True),
                            models.Q(("dismissal_reason", ""), _negated=True),
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
                        name="decided_edit_cluster_names_who_decided",
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="Extraction",
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
                    "conversation",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="extraction",
                        to="conversations.conversation",
                    ),
                ),
                (
                    "verdict",
                    models.CharField(
                        choices=[
                            ("drafted", "Drafted a skill"),
                            ("too-short", "Too short"),
                            ("trivial", "Trivial: no tool was needed"),
                            ("unsolved", "Not solved"),
                            ("nothing", "The model found nothing to learn"),
                            ("supports", "Adds to a draft that says the same"),
                            ("known", "The agent has such a skill"),
                            ("malformed", "The model's answer was unusable"),
                            ("refused", "The draft broke a rule"),
                            ("failed", "The model refused the request"),
                            ("off-record", "Off the record"),
                            ("learning-off", "Learning is off for this agent"),
                        ],
                        max_length=12,
                    ),
                ),
                ("reason", models.TextField()),
                (
                    "skill",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="extractions",
                        to="skills.skill",
                    ),
                ),
                (
                    "tool_names",
                    models.JSONField(
                        blank=True, default=list, help_text="The names of the tools that the procedure calls."
                    ),
                ),
                (
                    "masked_counts",
                    models.JSONField(
                        blank=True, default=dict, help_text="The number of masked items in the draft, by kind."
                    ),
                ),
                ("model", models.CharField(blank=True, max_length=80)),
                ("is_stand_in", models.BooleanField(default=False)),
                ("input_tokens", models.PositiveIntegerField(default=0)),
                ("output_tokens", models.PositiveIntegerField(default=0)),
                (
                    "cost_micro_usd",
                    models.PositiveBigIntegerField(
                        help_text="Empty: no price is known, or the stand-in answered.", null=True
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("verdict", "drafted"), _negated=True), ("skill__isnull", False), _connector="OR"
                        ),
                        name="drafting_extraction_names_its_skill",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ExtractionClaim",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                (
                    "conversation",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="conversations.conversation"
                    ),
                ),
                ("lease_until", models.DateTimeField()),
                ("next_attempt_at", models.DateTimeField()),
                (
                    "failures",
                    models.PositiveIntegerField(default=0, help_text="Failed model calls for it."),
                ),
                (
                    "failure_code",
                    models.CharField(blank=True, help_text="The code of the latest failure.", max_length=40),
                ),
            ],
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
                ("number", models.PositiveIntegerField(editable=False)),
                (
                    "previous_version",
                    models.ForeignKey(
                        db_constraint=False,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="learning.learningversion",
                    ),
                ),
                ("body", models.TextField(editable=False)),
                ("change_summary", models.TextField(editable=False)),
                (
                    "lesson_ids",
                    models.JSONField(default=list, editable=False, help_text="The lessons that support it."),
                ),
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
                        violation_error_message="Another version of this agent became active meanwhile. Reload and decide again.",
                    ),
                    models.UniqueConstraint(
                        fields=("tenant", "agent", "number"), name="learning_versions_are_numbered"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("body", ""), _negated=True), name="learning_version_has_a_body"
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
            name="DigestRun",
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
                    "verdict",
                    models.CharField(
                        choices=[
                            ("proposed", "A version waits for a person"),
                            ("applied", "A version is active at once"),
                            ("refused", "The answer broke a rule"),
                            ("malformed", "The answer was unusable"),
                            ("failed", "The model refused the request"),
                        ],
                        max_length=10,
                    ),
                ),
                ("reasons", models.JSONField(default=list, help_text="Why there is no version, one sentence each.")),
                ("lesson_ids", models.JSONField(default=list, help_text="The lessons that it read.")),
                (
                    "unknown_lesson_ids",
                    models.JSONField(default=list, help_text="Ids of lessons that the answer made up."),
                ),
                (
                    "learning_version",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="learning.learningversion",
                    ),
                ),
                ("model", models.CharField(blank=True, max_length=80)),
                ("is_stand_in", models.BooleanField(default=False)),
                ("input_tokens", models.PositiveIntegerField(default=0)),
                ("output_tokens", models.PositiveIntegerField(default=0)),
                (
                    "cost_micro_usd",
                    models.PositiveBigIntegerField(
                        help_text="Empty: no price is known, or the stand-in answered.", null=True
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("learning_version__isnull", False), ("verdict__in", ["proposed", "applied"])),
                            models.Q(
                                models.Q(("verdict__in", ["proposed", "applied"]), _negated=True),
                                ("learning_version__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="digest_names_its_version_or_has_none",
                    )
                ],
            },
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
                ("problem", models.TextField()),
                ("correction", models.TextField(blank=True)),
                (
                    "source",
                    models.CharField(
                        choices=[
                            ("edited_draft", "A draft was sent in other words"),
                            ("discarded_draft", "A draft was discarded"),
                            ("answered_escalation", "A question was answered"),
                            ("failed_turn", "A turn gave no answer"),
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
                ("last_case_recorded_at", models.DateTimeField(help_text="When the latest case was recorded.")),
                (
                    "learning_version",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="learning.learningversion",
                    ),
                ),
            ],
            options={
                "ordering": ["-support_count", "-last_seen_at", "-id"],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "agent", "dedup_key"), name="lesson_is_unique_per_agent"),
                    models.CheckConstraint(
                        condition=models.Q(("confidence__gt", 0), ("confidence__lt", 1)),
                        name="lesson_confidence_is_between_zero_and_one",
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
                    "lesson",
                    models.ForeignKey(
                        editable=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="examples",
                        to="learning.lesson",
                    ),
                ),
                ("situation", models.TextField(verbose_name="what was asked")),
                ("draft", models.TextField(verbose_name="the draft that was wrong")),
                ("correction", models.TextField(verbose_name="what to write instead")),
                (
                    "masked_counts",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        editable=False,
                        help_text="The number of masked items, by kind.",
                    ),
                ),
                (
                    "keywords",
                    models.JSONField(
                        blank=True,
                        default=list,
                        editable=False,
                        help_text="The words of a message by which it is found.",
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
                        name="lesson_has_one_approved_example",
                        violation_error_message="This lesson is an example already. Retire that one to keep other words.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("situation", ""), _negated=True),
                            models.Q(("draft", ""), _negated=True),
                            models.Q(("correction", ""), _negated=True),
                        ),
                        name="example_has_situation_draft_and_correction",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("approved_by", ""), _negated=True), name="example_names_its_approver"
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
                        to="learning.lesson",
                    ),
                ),
                (
                    "source",
                    models.CharField(
                        choices=[
                            ("edited_draft", "A draft was sent in other words"),
                            ("discarded_draft", "A draft was discarded"),
                            ("answered_escalation", "A question was answered"),
                            ("failed_turn", "A turn gave no answer"),
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
                        help_text="The id of the draft, escalation, turn, proposal, learning version or report."
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
                (
                    "no_lesson_reason",
                    models.TextField(blank=True, help_text="Why there is no lesson, if there is none."),
                ),
                ("happened_at", models.DateTimeField()),
                ("recorded_at", models.DateTimeField()),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "source", "source_id"), name="source_has_one_lesson_case"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("lesson__isnull", False), ("no_lesson_reason", "")),
                            models.Q(("lesson__isnull", True), models.Q(("no_lesson_reason", ""), _negated=True)),
                            _connector="OR",
                        ),
                        name="case_has_a_lesson_or_says_why_not",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="EditClusterCase",
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
                        on_delete=django.db.models.deletion.PROTECT, related_name="members", to="learning.editcluster"
                    ),
                ),
                (
                    "case",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="learning.lessoncase"
                    ),
                ),
                ("recorded_at", models.DateTimeField()),
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
        migrations.CreateModel(
            name="Reflection",
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
                ("day", models.DateField(help_text="By the tenant's clock, from eleven in the evening before.")),
                (
                    "verdict",
                    models.CharField(
                        choices=[
                            ("waiting", "Not settled yet"),
                            ("drafted", "Drafted something for a person"),
                            ("too-few", "No conversation to learn from"),
                            ("nothing", "The model found nothing to learn"),
                            ("known", "The agent knows it already"),
                            ("malformed", "The model's answer was unusable"),
                            ("refused", "The drafts broke a rule"),
                            ("failed", "The model failed"),
                        ],
                        default="waiting",
                        max_length=12,
                    ),
                ),
                ("reason", models.TextField(blank=True)),
                (
                    "conversation_ids",
                    models.JSONField(
                        blank=True, default=list, help_text="The ids of the conversations that were read."
                    ),
                ),
                (
                    "skill_ids",
                    models.JSONField(blank=True, default=list, help_text="The ids of the drafts that it made."),
                ),
                (
                    "proposal_ids",
                    models.JSONField(
                        blank=True,
                        db_default=models.Value([], models.JSONField()),
                        default=list,
                        help_text="The ids of the proposals of memory lines.",
                    ),
                ),
                ("model", models.CharField(blank=True, max_length=80)),
                ("is_stand_in", models.BooleanField(default=False)),
                ("input_tokens", models.PositiveIntegerField(default=0)),
                ("output_tokens", models.PositiveIntegerField(default=0)),
                (
                    "cost_micro_usd",
                    models.PositiveBigIntegerField(
                        help_text="Empty: no price is known, or the stand-in answered.", null=True
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("lease_until", models.DateTimeField()),
                ("next_attempt_at", models.DateTimeField()),
                (
                    "failures",
                    models.PositiveIntegerField(default=0, help_text="Failed model calls for it."),
                ),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "agent", "day"), name="agent_reflects_once_on_a_day"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("verdict", "waiting"), models.Q(("reason", ""), _negated=True), _connector="OR"
                        ),
                        name="settled_reflection_says_why",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="TierClock",
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
                    "tier",
                    models.CharField(
                        choices=[
                            ("short", "Short: the recent days"),
                            ("mid", "Mid: what lasts for weeks"),
                            ("long", "Long: what lasts"),
                        ],
                        max_length=5,
                    ),
                ),
                ("next_run_at", models.DateTimeField()),
                ("lease_until", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "failures",
                    models.PositiveIntegerField(default=0, help_text="Failed model calls since the last run."),
                ),
                (
                    "requested_by",
                    models.CharField(blank=True, help_text="Who requested a run outside the schedule.", max_length=200),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("tenant", "agent", "tier"), name="tier_has_one_clock")],
            },
        ),
        migrations.CreateModel(
            name="TierRun",
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
                    "tier",
                    models.CharField(
                        choices=[
                            ("short", "Short: the recent days"),
                            ("mid", "Mid: what lasts for weeks"),
                            ("long", "Long: what lasts"),
                        ],
                        max_length=5,
                    ),
                ),
                (
                    "verdict",
                    models.CharField(
                        choices=[
                            ("stored", "Stored"),
                            ("pending", "Waits for a person"),
                            ("nothing", "Nothing new"),
                            ("refused", "Refused: it would drop too much or add unsupported facts"),
                            ("malformed", "The model's answer was unusable"),
                            ("failed", "The model could not be asked"),
                        ],
                        max_length=10,
                    ),
                ),
                ("reasons", models.JSONField(blank=True, default=list)),
                (
                    "proposed_facts",
                    models.JSONField(blank=True, default=list, help_text="The facts of a rewrite that was refused."),
                ),
                ("facts_before", models.PositiveIntegerField(default=0)),
                ("facts_after", models.PositiveIntegerField(default=0)),
                ("requested_by", models.CharField(blank=True, max_length=200)),
                ("model", models.CharField(blank=True, max_length=80)),
                ("is_stand_in", models.BooleanField(default=False)),
                ("input_tokens", models.PositiveIntegerField(default=0)),
                ("output_tokens", models.PositiveIntegerField(default=0)),
                (
                    "cost_micro_usd",
                    models.PositiveBigIntegerField(
                        help_text="Empty: no price is known, or the stand-in answered.", null=True
                    ),
                ),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("verdict__in", ["stored", "pending", "nothing"]),
                            models.Q(("reasons", []), _negated=True),
                            _connector="OR",
                        ),
                        name="run_without_a_result_says_why",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Contradiction",
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
                        choices=[
                            ("amount", "Different amounts"),
                            ("date", "Different dates"),
                            ("opposite", "Opposites"),
                            ("steps", "Different steps for the same situation"),
                            ("avoided", "One requires what the other forbids"),
                            ("tool", "A tool that the agent may not call"),
                        ],
                        editable=False,
                        max_length=10,
                    ),
                ),
                ("pair_sha256", models.CharField(editable=False, max_length=64)),
                (
                    "conflicting_words",
                    models.TextField(blank=True, editable=False, help_text="The words of the first line that clash."),
                ),
                (
                    "first_type",
                    models.CharField(
                        choices=[
                            ("persona", "Persona"),
                            ("rule", "Rule"),
                            ("memory", "Memory"),
                            ("block", "Memory block"),
                            ("tier", "Memory tier"),
                            ("skill", "Skill"),
                        ],
                        editable=False,
                        max_length=10,
                    ),
                ),
                ("first_id", models.BigIntegerField(editable=False)),
                ("first_location", models.CharField(editable=False, max_length=300)),
                ("first_text", models.TextField(editable=False)),
                (
                    "second_type",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("persona", "Persona"),
                            ("rule", "Rule"),
                            ("memory", "Memory"),
                            ("block", "Memory block"),
                            ("tier", "Memory tier"),
                            ("skill", "Skill"),
                        ],
                        editable=False,
                        max_length=10,
                    ),
                ),
                ("second_id", models.BigIntegerField(editable=False, null=True)),
                ("second_location", models.CharField(blank=True, editable=False, max_length=300)),
                ("second_text", models.TextField(blank=True, editable=False)),
                (
                    "last_seen_at",
                    models.DateTimeField(
                        editable=False,
                        help_text="When a scan last found it, if it is cleared; empty while the latest scan finds it.",
                        null=True,
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[("open", "Open"), ("dismissed", "Dismissed"), ("gone", "Gone")],
                        default="open",
                        max_length=10,
                    ),
                ),
                (
                    "dismissal_reason",
                    models.TextField(
                        blank=True,
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(2000),
                        ],
                        verbose_name="why it may stay",
                    ),
                ),
                ("decided_by", models.CharField(blank=True, editable=False, max_length=200)),
                ("decided_at", models.DateTimeField(editable=False, null=True)),
            ],
            options={
                "ordering": ["-id"],
                "abstract": False,
                "base_manager_name": "objects",
                "indexes": [
                    models.Index(fields=["tenant", "first_type", "first_id"], name="contradiction_by_first_side"),
                    models.Index(fields=["tenant", "second_type", "second_id"], name="contradiction_by_second_side"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "agent", "pair_sha256"), name="contradiction_is_unique_per_pair"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status", "dismissed"), _negated=True),
                            models.Q(("decided_by", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="dismissed_contradiction_names_who_did",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("decided_by", ""), ("dismissal_reason", "")),
                            models.Q(
                                models.Q(("decided_by", ""), _negated=True),
                                models.Q(("dismissal_reason", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="dismissed_contradiction_has_a_dismissal_reason",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("kind", "tool"), ("second_id__isnull", True), ("second_type", "")),
                            models.Q(
                                models.Q(("kind", "tool"), _negated=True),
                                ("second_id__isnull", False),
                                models.Q(("second_type", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="contradiction_has_two_sides_or_names_a_tool",
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
    ]
