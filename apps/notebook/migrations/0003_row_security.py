"""Keys, triggers, row security and grants of this app; `sql/` has their text."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database.migration_operations import DropDuplicateForeignKeys, LoadSQL


class Migration(migrations.Migration):
    """Depends on the migrations that create the tables and functions named in the SQL."""

    dependencies: ClassVar = [
        ("conversations", "0003_row_security"),
        ("governance", "0002_functions"),
        ("kill_switches", "0002_functions"),
        ("notebook", "0002_functions"),
        ("tenants", "0003_row_security"),
    ]
    operations: ClassVar = [
        LoadSQL("notebook", "keys"),
        DropDuplicateForeignKeys(),
        LoadSQL("notebook", "triggers"),
        LoadSQL("notebook", "row_security"),
    ]
