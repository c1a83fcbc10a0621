"""Tenants as a Django app."""

from django.apps import AppConfig


class TenantsConfig(AppConfig):
    """The tenants' app configuration."""

    name = "apps.tenants"
