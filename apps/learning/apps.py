"""Learning as a Django app."""

from django.apps import AppConfig


class LearningConfig(AppConfig):
    """The app configuration of learning."""

    name = "apps.learning"
