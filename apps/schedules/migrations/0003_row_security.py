"""Keys, triggers, row security and grants of this app; `sql/` has their text."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database.migration_operations import DropDuplicateForeignKeys, LoadSQL


class Migration(migrations.Migration):
    """Depends on the migrations that create the tables and functions named in the SQL."""

    dependencies: ClassVar = [
        ("conversations", "0003_row_security"),
        ("governance", "0002_functions"),
        ("schedules", "0002_functions"),
        ("skills", "0003_row_security"),
        ("tenants", "0003_row_security"),
    ]
    operations: ClassVar = [
        LoadSQL("schedules", "keys"),
        DropDuplicateForeignKeys(),
        LoadSQL("schedules", "triggers"),
        LoadSQL("schedules", "row_security"),
    ]
