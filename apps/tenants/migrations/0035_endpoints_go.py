"""Whoever makes an endpoint may take it away."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL


class Migration(migrations.Migration):
    """A right."""

    dependencies: ClassVar = [("tenants", "0034_tiers")]
    operations: ClassVar = [RoleSQL("GRANT DELETE ON tenants_endpoint TO @operator@")]
