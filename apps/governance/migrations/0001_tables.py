import django.core.serializers.json
import django.db.models.deletion
import django.db.models.lookups
import django_fsm
from django.db import migrations, models

from apps.governance.database.migration_operations import TableMigration
from apps.governance.policy.policy_table import Act


class Migration(TableMigration):
    initial = True

    dependencies = [
        ("tenants", "0001_tables"),
    ]

    operations = [
        migrations.CreateModel(
            name="AuditCheck",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                ("position", models.BigIntegerField()),
                ("sha256", models.CharField(blank=True, max_length=64)),
                ("finding_count", models.PositiveIntegerField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="ChangeRecord",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                ("act", models.CharField(choices=[(act.value, act.value) for act in Act], max_length=40)),
                ("subject_type", models.CharField(max_length=60)),
                ("subject_id", models.BigIntegerField()),
                ("subject_label", models.CharField(max_length=200)),
                ("actor_role", models.CharField(max_length=20)),
                ("actor_label", models.CharField(max_length=200)),
                ("actor_user_id", models.BigIntegerField(null=True)),
                ("agent_id", models.BigIntegerField(null=True)),
                ("version_before", models.PositiveIntegerField()),
                ("version_after", models.PositiveIntegerField()),
                ("evidence", models.JSONField(default=dict)),
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
                        max_length=20,
                    ),
                ),
                ("text_sha256", models.CharField(max_length=64)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    models.Index(fields=["tenant", "subject_type", "subject_id", "-id"], name="change_by_subject"),
                    models.Index(fields=["tenant", "act", "created_at"], name="change_by_act_and_time"),
                ],
            },
        ),
        migrations.CreateModel(
            name="ChangeText",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                (
                    "record",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="text", to="governance.changerecord"
                    ),
                ),
                ("salt", models.CharField(max_length=32)),
                ("before", models.JSONField(encoder=django.core.serializers.json.DjangoJSONEncoder)),
                ("after", models.JSONField(encoder=django.core.serializers.json.DjangoJSONEncoder)),
                ("reason", models.TextField(blank=True)),
            ],
        ),
        migrations.CreateModel(
            name="Proposal",
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
                (
                    "agent",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.agent",
                    ),
                ),
                ("target_type", models.CharField(max_length=60)),
                ("target_id", models.BigIntegerField()),
                ("target_label", models.CharField(max_length=200)),
                ("base_version", models.PositiveIntegerField(default=0)),
                ("base_sha256", models.CharField(max_length=64)),
                ("base_content", models.JSONField(blank=True, default=dict)),
                ("content", models.JSONField(blank=True)),
                ("edited_content", models.JSONField(blank=True, null=True)),
                ("edited_by", models.CharField(blank=True, max_length=200)),
                ("edited_by_id", models.BigIntegerField(blank=True, null=True)),
                ("content_sha256", models.CharField(default="", editable=False, max_length=64)),
                (
                    "risk",
                    models.CharField(
                        choices=[("low", "low"), ("elevated", "elevated"), ("high", "high")],
                        default="low",
                        max_length=10,
                    ),
                ),
                ("rationale", models.TextField(blank=True)),
                ("evidence", models.JSONField(blank=True, default=dict)),
                ("support_count", models.PositiveIntegerField(default=1)),
                ("proposed_by", models.CharField(max_length=200)),
                ("proposers", models.JSONField(blank=True, default=list)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("applied", "Applied"),
                            ("rejected", "Rejected"),
                            ("expired", "Expired"),
                            ("quarantined", "Quarantined"),
                        ],
                        default="open",
                        max_length=12,
                    ),
                ),
                ("round", models.PositiveIntegerField(default=1, editable=False)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("snoozed_until", models.DateTimeField(blank=True, null=True)),
                ("claimed_by", models.CharField(blank=True, max_length=200)),
                ("claimed_by_id", models.BigIntegerField(blank=True, null=True)),
                ("claimed_at", models.DateTimeField(blank=True, null=True)),
                ("revision_request", models.TextField(blank=True)),
                ("approval_count", models.PositiveIntegerField(default=0)),
                ("replaced_values", models.JSONField(blank=True, default=dict)),
                ("decided_by", models.CharField(blank=True, max_length=200)),
                ("decided_by_id", models.BigIntegerField(blank=True, null=True)),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
                ("decision_reason", models.TextField(blank=True)),
                (
                    "reason_code",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("wrong", "Wrong"),
                            ("duplicate", "Says what is there already"),
                            ("unsafe", "Unsafe"),
                            ("against_policy", "Against policy"),
                            ("not_useful", "Not useful"),
                            ("wrong_tone", "Wrong tone"),
                            ("other", "Other"),
                        ],
                        max_length=20,
                    ),
                ),
                ("quarantine_reason", models.TextField(blank=True)),
            ],
            options={
                "ordering": ["-id"],
                "abstract": False,
                "base_manager_name": "objects",
                "indexes": [
                    models.Index(fields=["tenant", "state", "id"], name="proposal_by_state"),
                    models.Index(
                        condition=models.Q(("decided_at__isnull", False)),
                        fields=["tenant", "decided_at"],
                        name="proposal_by_decision",
                    ),
                    models.Index(
                        condition=models.Q(("state", "open")), fields=["expires_at"], name="open_proposal_expiry"
                    ),
                    models.Index(
                        condition=models.Q(("state", "rejected")),
                        fields=["decided_at"],
                        name="proposal_rejected_lately",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        models.F("tenant"),
                        models.F("target_type"),
                        models.F("target_id"),
                        models.F("kind"),
                        django.db.models.lookups.IsNull(models.F("agent"), rhs=True),
                        condition=models.Q(("state", "open")),
                        name="one_open_proposal_per_target_and_kind",
                        violation_error_message="There is an open proposal for this already; revise it.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state", "open"), models.Q(("decided_by", ""), _negated=True), _connector="OR"
                        ),
                        name="decided_proposal_names_who_decided",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "quarantined"), _negated=True),
                            models.Q(("quarantine_reason", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="quarantined_proposal_says_why",
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="Approval",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                (
                    "proposal",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="approvals",
                        to="governance.proposal",
                    ),
                ),
                ("user_id", models.BigIntegerField()),
                ("user_label", models.CharField(max_length=200)),
                ("content_sha256", models.CharField(max_length=64)),
                ("is_edited", models.BooleanField(default=False)),
                ("is_self_approval", models.BooleanField(default=False)),
                ("confirmed_findings", models.JSONField(blank=True, default=list)),
                ("reason", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "proposal", "user_id", "content_sha256"),
                        name="reviewer_approves_the_same_bytes_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Refusal",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                ("act", models.CharField(blank=True, choices=[(act.value, act.value) for act in Act], max_length=40)),
                ("code", models.CharField(max_length=40)),
                ("detail", models.CharField(max_length=500)),
                ("subject_type", models.CharField(blank=True, max_length=60)),
                ("subject_id", models.BigIntegerField(null=True)),
                ("actor_role", models.CharField(max_length=20)),
                ("actor_label", models.CharField(max_length=200)),
                ("actor_user_id", models.BigIntegerField(null=True)),
                ("agent_id", models.BigIntegerField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    models.Index(fields=["tenant", "-id"], name="refusal_newest_first"),
                    models.Index(fields=["tenant", "created_at"], name="refusal_by_time"),
                ],
            },
        ),
        migrations.CreateModel(
            name="AuditLink",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                ("position", models.BigIntegerField()),
                ("entry_type", models.CharField(choices=[("change", "Change"), ("refusal", "Refusal")], max_length=10)),
                ("entry_id", models.BigIntegerField()),
                ("entry_sha256", models.CharField(max_length=64)),
                ("previous_sha256", models.CharField(blank=True, max_length=64)),
                ("sha256", models.CharField(max_length=64)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["position"],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "position"), name="one_link_per_position"),
                    models.UniqueConstraint(fields=("tenant", "entry_type", "entry_id"), name="one_link_per_entry"),
                ],
            },
        ),
    ]
