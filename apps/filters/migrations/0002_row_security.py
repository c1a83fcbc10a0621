"""Keys, triggers, row security and grants of this app; `sql/` has their text."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import LoadSQL


class Migration(migrations.Migration):
    """Every table and function that the text names is there before."""

    dependencies: ClassVar = [
        ("filters", "0001_tables"),
        ("governance", "0002_functions"),
        ("tenants", "0001_tables"),
    ]
    operations: ClassVar = [
        LoadSQL("filters", "row_security"),
    ]
