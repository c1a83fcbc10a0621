"""Tenants as a Django app."""

from django.apps import AppConfig
from django.core.checks import Tags, register

from apps.tenants.checks import roles_apart


class TenantsConfig(AppConfig):
    """The tenants' app configuration."""

    name = "apps.tenants"

    def ready(self) -> None:
        """Let `check --database` and `migrate` look whether roles mix."""
        register(roles_apart, Tags.database)
