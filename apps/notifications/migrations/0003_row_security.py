"""Keys, triggers, row security and grants of this app; `sql/` has their text."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database.migration_operations import DropDuplicateForeignKeys, LoadSQL


class Migration(migrations.Migration):
    """Every table and function that the text names is there before."""

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
