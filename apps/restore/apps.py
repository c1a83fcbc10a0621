"""The Django app of restoration."""

from django.apps import AppConfig


class RestorationConfig(AppConfig):
    """The Django app configuration of restoration."""

    name = "apps.restore"
