"""Keys, triggers, row security and grants of this app; `sql/` has their text."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database.migration_operations import LoadSQL


class Migration(migrations.Migration):
    """Every table and function that the text names is there before."""

    dependencies: ClassVar = [
        ("api", "0002_functions"),
        ("governance", "0002_functions"),
    ]
    operations: ClassVar = [
        LoadSQL("api", "row_security"),
    ]
