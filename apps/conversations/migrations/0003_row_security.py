"""Keys, triggers, row security and grants of this app; `sql/` has their text."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database.migration_operations import DropDuplicateForeignKeys, LoadSQL


class Migration(migrations.Migration):
    """Depends on the migrations that create the tables and functions named in the SQL."""

    dependencies: ClassVar = [
        ("conversations", "0002_functions"),
        ("governance", "0002_functions"),
        ("personas", "0001_tables"),
        ("runtime", "0001_tables"),
        ("tenants", "0003_row_security"),
    ]
    operations: ClassVar = [
        LoadSQL("conversations", "keys"),
        DropDuplicateForeignKeys(),
        LoadSQL("conversations", "triggers"),
        LoadSQL("conversations", "row_security"),
    ]
