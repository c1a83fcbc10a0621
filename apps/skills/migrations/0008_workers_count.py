"""What was fetched in a turn is counted by the worker, in the statement that ends the turn."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL


class Migration(migrations.Migration):
    """A right more for the worker."""

    dependencies: ClassVar = [
        ("skills", "0007_names_and_files_held"),
    ]
    operations: ClassVar = [
        RoleSQL("GRANT INSERT, UPDATE (use_count, last_used_at) ON skills_skilluse TO @worker@"),
    ]
