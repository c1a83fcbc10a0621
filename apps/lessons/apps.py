"""Lessons as a Django app."""

from django.apps import AppConfig


class LessonsConfig(AppConfig):
    """The app configuration of lessons."""

    name = "apps.lessons"

    def ready(self) -> None:
        """Say what webhooks are told of its rows."""
        from apps.lessons.telling import said_of_version  # models are there only now
        from apps.webhooks.rules import Event
        from apps.webhooks.telling import OF_ROWS

        OF_ROWS[Event.VERSION] = said_of_version
