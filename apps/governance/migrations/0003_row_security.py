"""Keys, triggers, row security and grants of this app; `sql/` has their text."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database.migration_operations import DropDuplicateForeignKeys, LoadSQL


class Migration(migrations.Migration):
    """Every table and function that the text names is there before."""

    dependencies: ClassVar = [
        ("governance", "0002_functions"),
        ("kill_switches", "0002_functions"),
        ("memory", "0001_tables"),
        ("personas", "0001_tables"),
        ("tenants", "0003_row_security"),
    ]
    operations: ClassVar = [
        LoadSQL("governance", "keys"),
        DropDuplicateForeignKeys(),
        LoadSQL("governance", "triggers"),
        LoadSQL("governance", "row_security"),
    ]
