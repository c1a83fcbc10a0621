"""The console as a Django app."""

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    """The app configuration of console."""

    name = "apps.console"
