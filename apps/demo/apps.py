"""The demo as a Django app."""

from django.apps import AppConfig


class DemoConfig(AppConfig):
    """The app configuration of demo."""

    name = "apps.demo"
