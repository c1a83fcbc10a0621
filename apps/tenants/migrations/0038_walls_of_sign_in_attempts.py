"""Attempts to sign in are counted before anybody is known: by the login alone, and read by nobody else."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL


class Migration(migrations.Migration):
    """Rights on a table that no tenant owns."""

    dependencies: ClassVar = [
        ("tenants", "0037_sign_in_attempts"),
    ]
    operations: ClassVar = [
        RoleSQL("GRANT SELECT, INSERT, UPDATE, DELETE ON tenants_signinattempts TO @login@"),
    ]
