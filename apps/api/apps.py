"""The Django app of the API."""

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """The Django app configuration of the API."""

    name = "apps.api"
