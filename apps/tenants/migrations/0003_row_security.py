"""Keys, triggers, row security and grants of this app; `sql/` has their text."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database.migration_operations import DropDuplicateForeignKeys, LoadSQL


class Migration(migrations.Migration):
    """Every table and function that the text names is there before."""

    dependencies: ClassVar = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("conversations", "0002_functions"),
        ("governance", "0002_functions"),
        ("sessions", "0001_initial"),
        ("tenants", "0002_functions"),
    ]
    operations: ClassVar = [
        LoadSQL("tenants", "keys"),
        DropDuplicateForeignKeys(),
        LoadSQL("tenants", "triggers"),
        LoadSQL("tenants", "row_security"),
    ]
