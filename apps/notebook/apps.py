"""The notebook as a Django app."""

from django.apps import AppConfig


class NotebookConfig(AppConfig):
    """The app configuration of the notebook."""

    name = "apps.notebook"
