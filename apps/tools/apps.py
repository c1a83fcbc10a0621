"""Tools as a Django app."""

from django.apps import AppConfig


class ToolsConfig(AppConfig):
    """The app configuration of tools."""

    name = "apps.tools"
