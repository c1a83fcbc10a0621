"""The Django app of the demo."""

from django.apps import AppConfig


class DemoConfig(AppConfig):
    """The Django app configuration of the demo."""

    name = "apps.demo"
