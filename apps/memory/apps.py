"""Memory as a Django app."""

from django.apps import AppConfig


class MemoryConfig(AppConfig):
    """The app configuration of memory."""

    name = "apps.memory"
