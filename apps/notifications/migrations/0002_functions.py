"""The functions of this app; `sql/functions.sql` has their text."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database.migration_operations import LoadSQL


class Migration(migrations.Migration):
    """Loads the functions without checking their bodies, which may name tables and functions of apps that are migrated later."""

    dependencies: ClassVar = [("notifications", "0001_tables")]
    operations: ClassVar = [LoadSQL("notifications", "functions")]
