"""Second factors are the login's alone; since when somebody has one is for every member of their tenants to see."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL


class Migration(migrations.Migration):
    """Rights on tables that no tenant owns."""

    dependencies: ClassVar = [
        ("tenants", "0040_second_factors"),
    ]
    operations: ClassVar = [
        RoleSQL("GRANT SELECT, INSERT, UPDATE, DELETE ON tenants_secondfactor, tenants_recoverycode TO @login@"),
        RoleSQL("GRANT SELECT (factor_since) ON tenants_user TO @operator@, @worker@, @staff@"),
    ]
