"""The runtime as a Django app."""

from django.apps import AppConfig


class RuntimeConfig(AppConfig):
    """The app configuration of runtime."""

    name = "apps.runtime"
