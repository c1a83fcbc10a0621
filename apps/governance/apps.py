"""Governance as a Django app."""

from django.apps import AppConfig


class GovernanceConfig(AppConfig):
    """The kernel's app configuration."""

    name = "apps.governance"
