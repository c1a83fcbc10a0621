"""The endpoints of tiers are the agent's own tenant's."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey


class Migration(migrations.Migration):
    """References that stay within the tenant."""

    dependencies: ClassVar = [
        ("tenants", "0047_distil_endpoints"),
    ]
    operations: ClassVar = [
        ComposeForeignKey("tenants_agent", "distil_endpoint_mid_id", "tenants_endpoint"),
        ComposeForeignKey("tenants_agent", "distil_endpoint_long_id", "tenants_endpoint"),
    ]
