"""The desk as a Django app."""

from django.apps import AppConfig


class DeskConfig(AppConfig):
    """The app configuration of the desk."""

    name = "apps.desk"
