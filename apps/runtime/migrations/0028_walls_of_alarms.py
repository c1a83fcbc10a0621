"""Alarms are noted and read before any tenant is known, by the login alone."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL


class Migration(migrations.Migration):
    """Rights on a table that no tenant owns."""

    dependencies: ClassVar = [
        ("runtime", "0027_alarms"),
    ]
    operations: ClassVar = [
        RoleSQL("GRANT SELECT, INSERT, UPDATE ON runtime_alarm TO @login@"),
    ]
