"""The keys for signatures stay within the tenant."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey


class Migration(migrations.Migration):
    """References."""

    dependencies: ClassVar = [
        ("tenants", "0023_proofs"),
    ]
    operations: ClassVar = [
        ComposeForeignKey("tenants_tenantsettings", "proof_secret_id", "tenants_sealedsecret"),
        ComposeForeignKey("tenants_tenantsettings", "former_proof_secret_id", "tenants_sealedsecret"),
    ]
