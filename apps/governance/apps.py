"""Governance as a Django app."""

from django.apps import AppConfig


class GovernanceConfig(AppConfig):
    """The app configuration of governance."""

    name = "apps.governance"
