"""Sessions are the login's alone; the table that Django brings is unused from here on, and empty."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL


class Migration(migrations.Migration):
    """Rights on a table that no tenant owns."""

    dependencies: ClassVar = [
        ("tenants", "0042_browser_sessions"),
    ]
    operations: ClassVar = [
        RoleSQL("GRANT SELECT, INSERT, UPDATE, DELETE ON tenants_browsersession TO @login@"),
    ]
