"""Keys of tenants and agents are told apart by more than case."""

from typing import ClassVar

from django.db import migrations, models

from apps.tenants.models import SLUG


class Migration(migrations.Migration):
    """Two checks."""

    dependencies: ClassVar = [
        ("tenants", "0015_walls_of_addresses"),
    ]
    operations: ClassVar = [
        migrations.AddConstraint(
            "tenant", models.CheckConstraint(condition=models.Q(key__regex=SLUG), name="tenant_key_is_lower_case")
        ),
        migrations.AddConstraint(
            "agent", models.CheckConstraint(condition=models.Q(key__regex=SLUG), name="agent_key_is_lower_case")
        ),
    ]
