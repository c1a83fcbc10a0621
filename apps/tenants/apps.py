"""Tenants as a Django app."""

from django.apps import AppConfig
from django.core.checks import Tags, register

from apps.tenants.checks import check_role_separation


class TenantsConfig(AppConfig):
    """The tenants' app configuration."""

    name = "apps.tenants"

    def ready(self) -> None:
        """Register the role separation check for `check --database` and `migrate`."""
        register(check_role_separation, Tags.database)
