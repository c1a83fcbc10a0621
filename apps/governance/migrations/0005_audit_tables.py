"""Refused attempts, the links of the audit chain, and its verifications."""

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models

from apps.governance.policy import Act


class Migration(migrations.Migration):
    """Three journals."""

    dependencies: ClassVar = [
        ("governance", "0004_acts_follow_the_policy"),
        ("tenants", "0005_prompt_walls"),
    ]

    operations: ClassVar = [
        migrations.CreateModel(
            name="AuditCheck",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("position", models.BigIntegerField()),
                ("sha256", models.CharField(blank=True, max_length=64)),
                ("finding_count", models.PositiveIntegerField()),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="AuditLink",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("position", models.BigIntegerField()),
                ("entry_type", models.CharField(choices=[("change", "Change"), ("refusal", "Refusal")], max_length=10)),
                ("entry_id", models.BigIntegerField()),
                ("entry_sha256", models.CharField(max_length=64)),
                ("previous_sha256", models.CharField(blank=True, max_length=64)),
                ("sha256", models.CharField(max_length=64)),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
            ],
            options={
                "ordering": ["position"],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "position"), name="one_link_per_position"),
                    models.UniqueConstraint(fields=("tenant", "entry_type", "entry_id"), name="one_link_per_entry"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Refusal",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("act", models.CharField(blank=True, choices=[(act.value, act.value) for act in Act], max_length=40)),
                ("code", models.CharField(max_length=40)),
                ("sentence", models.CharField(max_length=500)),
                ("subject_type", models.CharField(blank=True, max_length=60)),
                ("subject_id", models.BigIntegerField(null=True)),
                ("actor_role", models.CharField(max_length=20)),
                ("actor_label", models.CharField(max_length=200)),
                ("actor_user_id", models.BigIntegerField(null=True)),
                ("agent_id", models.BigIntegerField(null=True)),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [models.Index(fields=["tenant", "-id"], name="refusal_newest_first")],
            },
        ),
    ]
