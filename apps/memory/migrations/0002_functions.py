"""The functions of this app; `sql/functions.sql` has their text."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database.migration_operations import LoadSQL


class Migration(migrations.Migration):
    """Loaded unchecked: a body may name tables and functions of apps that come later."""

    dependencies: ClassVar = [("memory", "0001_tables")]
    operations: ClassVar = [LoadSQL("memory", "functions")]
