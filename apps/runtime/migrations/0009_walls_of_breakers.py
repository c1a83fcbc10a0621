"""Breakers are the workers' alone: no tenant's rows, and nothing that people or agents read."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL


class Migration(migrations.Migration):
    """Rights on a table that no tenant owns."""

    dependencies: ClassVar = [
        ("runtime", "0008_breakers"),
    ]
    operations: ClassVar = [
        RoleSQL("GRANT SELECT, INSERT, UPDATE ON runtime_breaker TO @worker@"),
    ]
