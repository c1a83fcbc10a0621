"""The permissions on tenants and role templates are those of the policy."""

from typing import ClassVar

from django.db import migrations

from apps.governance.policy import permissions


class Migration(migrations.Migration):
    """Read from the policy, so that a later act or field needs no migration: `migrate` makes what is missing."""

    dependencies: ClassVar = [
        ("tenants", "0002_walls"),
    ]
    operations: ClassVar = [
        migrations.AlterModelOptions(name="tenant", options={"permissions": permissions()}),
        migrations.AlterModelOptions(name="roletemplate", options={"permissions": permissions()}),
    ]
