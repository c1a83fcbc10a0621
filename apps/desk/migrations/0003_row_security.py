"""Keys, triggers, row security and grants of this app; `sql/` has their text."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database.migration_operations import DropDuplicateForeignKeys, LoadSQL


class Migration(migrations.Migration):
    """Every table and function that the text names is there before."""

    dependencies: ClassVar = [
        ("conversations", "0003_row_security"),
        ("desk", "0002_functions"),
        ("governance", "0002_functions"),
        ("skills", "0003_row_security"),
        ("tenants", "0003_row_security"),
    ]
    operations: ClassVar = [
        LoadSQL("desk", "keys"),
        DropDuplicateForeignKeys(),
        LoadSQL("desk", "triggers"),
        LoadSQL("desk", "row_security"),
    ]
