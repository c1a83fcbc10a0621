"""The API as a Django app."""

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """The app configuration of api."""

    name = "apps.api"
