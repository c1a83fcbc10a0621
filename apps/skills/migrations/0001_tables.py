import django.core.validators
import django.db.models.deletion
import django_fsm
from django.db import migrations, models

import apps.governance.stored_text
from apps.governance.database.migration_operations import TableMigration


class Migration(TableMigration):
    initial = True

    dependencies = [
        ("tenants", "0001_tables"),
    ]

    operations = [
        migrations.CreateModel(
            name="Skill",
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
                    "name",
                    models.CharField(
                        max_length=64,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[a-z0-9]+(?:-[a-z0-9]+)*\\Z",
                                "A skill's name is 1 to 64 of a-z, 0-9 and single hyphens, such as issue-a-refund.",
                            )
                        ],
                    ),
                ),
                (
                    "title",
                    models.CharField(max_length=120, validators=[apps.governance.stored_text.validate_storable_text]),
                ),
                (
                    "description",
                    models.CharField(max_length=300, validators=[apps.governance.stored_text.validate_storable_text]),
                ),
                (
                    "category",
                    models.CharField(
                        blank=True, max_length=60, validators=[apps.governance.stored_text.validate_storable_text]
                    ),
                ),
                (
                    "body",
                    models.TextField(
                        validators=[
                            apps.governance.stored_text.validate_storable_text,
                            django.core.validators.MaxLengthValidator(40000),
                        ]
                    ),
                ),
                (
                    "attachments",
                    models.JSONField(
                        blank=True, db_default=models.Value([], models.JSONField()), default=list, editable=False
                    ),
                ),
                (
                    "front_matter",
                    models.TextField(
                        blank=True,
                        db_default="",
                        default="",
                        editable=False,
                        validators=[apps.governance.stored_text.validate_storable_text],
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[("draft", "Draft"), ("approved", "Approved"), ("deprecated", "Deprecated")],
                        default="draft",
                        max_length=12,
                    ),
                ),
                ("drafted_by", models.CharField(editable=False, max_length=200)),
                ("content_sha256", models.CharField(default="", editable=False, max_length=64)),
                ("approved_sha256", models.CharField(blank=True, editable=False, max_length=64)),
                ("approved_by", models.CharField(blank=True, editable=False, max_length=200)),
                ("approved_at", models.DateTimeField(editable=False, null=True)),
                ("retained_until", models.DateTimeField(editable=False, null=True)),
                ("quarantined_at", models.DateTimeField(editable=False, null=True)),
                ("quarantined_by", models.CharField(blank=True, editable=False, max_length=200)),
                (
                    "quarantine_reason",
                    models.TextField(
                        blank=True, editable=False, validators=[apps.governance.stored_text.validate_storable_text]
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "abstract": False,
                "base_manager_name": "objects",
                "indexes": [
                    models.Index(fields=["tenant", "status", "id"], name="skill_by_status"),
                    models.Index(
                        condition=models.Q(("status", "approved")),
                        fields=["tenant", "agent", "name"],
                        name="approved_skill_index",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "agent", "name"),
                        name="skill_name_is_unique_for_its_agent",
                        violation_error_message="This agent has a skill of that name already, in some state.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name__regex", "^[a-z0-9]+(?:-[a-z0-9]+)*\\Z")),
                        name="skill_name_is_lower_case",
                        violation_error_message="A skill's name is 1 to 64 of a-z, 0-9 and single hyphens, such as issue-a-refund.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status", "approved"), _negated=True),
                            models.Q(("approved_by", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="approved_skill_names_its_approver",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status", "approved"), _negated=True),
                            ("approved_sha256", models.F("content_sha256")),
                            _connector="OR",
                        ),
                        name="approved_skill_is_the_bytes_approved",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("quarantine_reason", ""), ("quarantined_at", None), ("quarantined_by", "")),
                            models.Q(
                                ("quarantined_at__isnull", False),
                                models.Q(("quarantined_by", ""), _negated=True),
                                models.Q(("quarantine_reason", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="quarantined_skill_says_who_and_why",
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="SkillUse",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                (
                    "skill",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="use", to="skills.skill"
                    ),
                ),
                ("use_count", models.PositiveIntegerField(default=0)),
                ("last_used_at", models.DateTimeField(null=True)),
            ],
        ),
    ]
