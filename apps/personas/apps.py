"""Personas as a Django app."""

from django.apps import AppConfig


class PersonasConfig(AppConfig):
    """The app configuration of personas."""

    name = "apps.personas"
