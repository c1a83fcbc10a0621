"""A reply that a webhook has yet to be told is not forgotten meanwhile; the look across tenants sees which deliveries are one."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL


class Migration(migrations.Migration):
    """Rights."""

    dependencies: ClassVar = [
        ("webhooks", "0002_walls"),
    ]
    operations: ClassVar = [RoleSQL("GRANT SELECT (event, created_at) ON webhooks_delivery TO @crossing@")]
