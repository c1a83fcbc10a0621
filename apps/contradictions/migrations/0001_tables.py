import django.core.validators
import django.db.models.deletion
import django_fsm
from django.db import migrations, models

import apps.governance.text
from apps.governance.database import TableMigration


class Migration(TableMigration):
    initial = True

    dependencies = [
        ("tenants", "0001_tables"),
    ]

    operations = [
        migrations.CreateModel(
            name="ContradictionLook",
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
                    "night",
                    models.DateField(help_text="The latest night whose look ended, by the tenant's clock.", null=True),
                ),
                ("looked_at", models.DateTimeField(null=True)),
                (
                    "asked_at",
                    models.DateTimeField(help_text="When a person asked for a look that has not begun yet.", null=True),
                ),
                ("texts", models.PositiveIntegerField(default=0)),
                ("pairs", models.PositiveIntegerField(default=0, help_text="Pairs of statements that were compared.")),
                ("is_whole", models.BooleanField(default=True, help_text="Off: a limit ended the look.")),
            ],
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
                    "kind",
                    models.CharField(
                        choices=[
                            ("amount", "Different amounts"),
                            ("date", "Different dates"),
                            ("opposite", "The opposite of each other"),
                            ("steps", "Different steps for the same situation"),
                            ("avoided", "One does what the other avoids"),
                            ("tool", "A tool that the agent may not call"),
                        ],
                        editable=False,
                        max_length=10,
                    ),
                ),
                ("pair_sha256", models.CharField(editable=False, max_length=64)),
                (
                    "words",
                    models.TextField(blank=True, editable=False, help_text="The words of the one line that clash."),
                ),
                (
                    "one_noun",
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
                ("one_id", models.BigIntegerField(editable=False)),
                ("one_where", models.CharField(editable=False, max_length=300)),
                ("one_line", models.TextField(editable=False)),
                (
                    "other_noun",
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
                ("other_id", models.BigIntegerField(editable=False, null=True)),
                ("other_where", models.CharField(blank=True, editable=False, max_length=300)),
                ("other_line", models.TextField(blank=True, editable=False)),
                (
                    "last_seen_at",
                    models.DateTimeField(
                        editable=False,
                        help_text="When a look found it last, where it is gone; empty while the latest look did.",
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
                    "dismissal",
                    models.TextField(
                        blank=True,
                        validators=[apps.governance.text.plain_text, django.core.validators.MaxLengthValidator(2000)],
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
                    models.Index(fields=["tenant", "one_noun", "one_id"], name="contradiction_by_one_side"),
                    models.Index(fields=["tenant", "other_noun", "other_id"], name="contradiction_by_other_side"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "agent", "pair_sha256"), name="contradiction_of_a_pair_is_kept_once"
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
                            models.Q(("decided_by", ""), ("dismissal", "")),
                            models.Q(
                                models.Q(("decided_by", ""), _negated=True), models.Q(("dismissal", ""), _negated=True)
                            ),
                            _connector="OR",
                        ),
                        name="dismissal_of_a_contradiction_says_why",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("kind", "tool"), ("other_id__isnull", True), ("other_noun", "")),
                            models.Q(
                                models.Q(("kind", "tool"), _negated=True),
                                ("other_id__isnull", False),
                                models.Q(("other_noun", ""), _negated=True),
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
