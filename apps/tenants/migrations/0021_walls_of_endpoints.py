"""The walls around endpoints: people write them, workers read them, agents see nothing, and nobody but workers opens a key."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, ComposeKey, RaiseWall, Wall

# Whoever lays a key down sees that there is one. `sync_policy` gives the rights to write what the policy governs.
SECRETS = Wall(
    operator="SELECT (id, tenant_id, made_at), INSERT, DELETE",
    worker="SELECT, UPDATE (sealed)",
    agent="",
    staff="",
    versioned=False,
)
ENDPOINTS = Wall(operator="SELECT, INSERT, UPDATE (title, base_url, secret_id)", agent="")
PRICES = Wall(operator="SELECT, INSERT, DELETE, UPDATE (updated_at)", agent="")


class Migration(migrations.Migration):
    """Row security, grants, and references that stay within the tenant."""

    dependencies: ClassVar = [
        ("tenants", "0020_endpoints"),
        ("governance", "0003_walls"),
    ]
    operations: ClassVar = [
        RaiseWall("tenants_sealedsecret", SECRETS),
        RaiseWall("tenants_endpoint", ENDPOINTS),
        RaiseWall("tenants_modelprice", PRICES),
        ComposeKey("tenants_sealedsecret"),
        ComposeKey("tenants_endpoint"),
        ComposeForeignKey("tenants_endpoint", "secret_id", "tenants_sealedsecret"),
        ComposeForeignKey("tenants_agent", "endpoint_id", "tenants_endpoint"),
    ]
