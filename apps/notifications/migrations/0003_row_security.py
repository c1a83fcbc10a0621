"""Keys, triggers, row security and grants of this app; `sql/` has their text."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database.migration_operations import DropDuplicateForeignKeys, LoadSQL


class Migration(migrations.Migration):
    """Depends on the migrations that create the tables and functions named in the SQL."""

    dependencies: ClassVar = [
        ("governance", "0002_functions"),
        ("notifications", "0002_functions"),
    ]
    operations: ClassVar = [
        LoadSQL("notifications", "keys"),
        DropDuplicateForeignKeys(),
        LoadSQL("notifications", "triggers"),
        LoadSQL("notifications", "row_security"),
    ]
