"""Operations as a Django app."""

from django.apps import AppConfig


class OperationsConfig(AppConfig):
    """The app configuration of operations."""

    name = "apps.operations"
