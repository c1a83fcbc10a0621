"""What happened to an account is the login's alone to read; it is added and goes with its time, and nobody changes it."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL


class Migration(migrations.Migration):
    """Rights on a table that no tenant owns."""

    dependencies: ClassVar = [
        ("tenants", "0044_account_events"),
    ]
    operations: ClassVar = [
        RoleSQL("GRANT SELECT, INSERT, DELETE ON tenants_accountevent TO @login@"),
    ]
