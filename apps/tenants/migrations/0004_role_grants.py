"""Role grants of a tenant: the governed rows, and the right to write guardian's rows behind them."""

import django.db.models.deletion
import django_fsm
from django.db import migrations, models

from apps.governance.database.migration_operations import LoadSQL


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0003_row_security"),
    ]

    operations = [
        migrations.CreateModel(
            name="RoleGrants",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
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
                ("role", models.CharField(choices=[("operator", "Operators"), ("agent", "Agents")], max_length=20)),
                ("permissions", models.JSONField(blank=True, default=list)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant"
                    ),
                ),
            ],
            options={
                "verbose_name": "grants of a role",
                "verbose_name_plural": "grants of roles",
                "ordering": ["role"],
                "abstract": False,
                "base_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "role"),
                        name="role_has_one_row_of_grants_per_tenant",
                        violation_error_message="This role has grants of its own in this tenant already. Change those.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["operator", "agent"])),
                        name="grants_differ_for_operators_and_agents",
                        violation_error_message="Only the grants of operators and agents can be changed. Admins have all permissions.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("permissions", []), _negated=True),
                        name="role_keeps_a_grant",
                        violation_error_message="Grant at least one permission: a role without any would get its template's again. To stop a role altogether, deactivate its members or use a kill switch.",
                    ),
                ],
            },
            bases=(django_fsm.FSMModelMixin, models.Model),
        ),
        LoadSQL("tenants", "role_grants"),
    ]
