"""Restoration as a Django app."""

from django.apps import AppConfig


class RestorationConfig(AppConfig):
    """The app configuration of restoration."""

    name = "apps.restore"
