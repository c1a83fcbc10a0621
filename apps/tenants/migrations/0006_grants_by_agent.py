"""Grants that differ by agent or member, and guardian's tables that hold them."""

import django.db.models.deletion
import django_fsm
from django.conf import settings
from django.db import migrations, models

from apps.governance.policy import permissions


class Migration(migrations.Migration):
    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("tenants", "0005_prompt_walls"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="agent",
            options={"base_manager_name": "objects", "ordering": ["key"], "permissions": permissions()},
        ),
        migrations.CreateModel(
            name="AgentGrants",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
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
                    "role",
                    models.CharField(choices=[("operator", "Operators"), ("agent", "The agent itself")], max_length=20),
                ),
                ("granted", models.JSONField(blank=True, default=list)),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="role_grants", to="tenants.agent"
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
            ],
            options={
                "verbose_name": "grants on an agent",
                "verbose_name_plural": "grants on agents",
                "ordering": ["agent", "role"],
                "abstract": False,
                "base_manager_name": "objects",
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="AgentGroupObjectPermission",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("content_object", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="tenants.agent")),
                (
                    "grants",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="rows", to="tenants.agentgrants"
                    ),
                ),
                ("group", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="auth.group")),
                ("permission", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="auth.permission")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="MemberLimit",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
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
                ("limited_act", models.CharField(max_length=40, verbose_name="act")),
                ("agents", models.JSONField(blank=True, default=list, verbose_name="only for these agents")),
                (
                    "member",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="limits", to="tenants.membership"
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
            ],
            options={
                "ordering": ["member", "limited_act"],
                "abstract": False,
                "base_manager_name": "objects",
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        migrations.CreateModel(
            name="AgentUserObjectPermission",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("content_object", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="tenants.agent")),
                ("permission", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="auth.permission")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
                ("user", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL)),
                (
                    "limit",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="rows", to="tenants.memberlimit"
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.AddConstraint(
            model_name="agentgrants",
            constraint=models.UniqueConstraint(
                fields=("tenant", "agent", "role"),
                name="agent_has_one_row_of_grants_per_role",
                violation_error_message="This role has grants of its own on that agent already; change those.",
            ),
        ),
        migrations.AddConstraint(
            model_name="agentgrants",
            constraint=models.CheckConstraint(
                condition=models.Q(("role__in", ["operator", "agent"])),
                name="grants_differ_for_operators_and_agents_only",
                violation_error_message="Grants differ by agent for operators and for the agent itself. Admins have all.",
            ),
        ),
        migrations.AlterUniqueTogether(
            name="agentgroupobjectpermission",
            unique_together={("group", "permission", "content_object")},
        ),
        migrations.AddConstraint(
            model_name="memberlimit",
            constraint=models.UniqueConstraint(
                fields=("tenant", "member", "limited_act"),
                name="member_is_limited_once_per_act",
                violation_error_message="This member is limited in that act already; change that limit.",
            ),
        ),
        migrations.AlterUniqueTogether(
            name="agentuserobjectpermission",
            unique_together={("user", "permission", "content_object")},
        ),
    ]
