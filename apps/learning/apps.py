"""Learning as a Django app."""

from django.apps import AppConfig


class LearningConfig(AppConfig):
    """The app configuration of learning."""

    name = "apps.learning"

    def ready(self) -> None:
        """Say what webhooks are told of its rows."""
        from apps.learning.distillation.webhook_payload import said_of_run
        from apps.learning.lessons.webhook_payload import said_of_version  # models are there only now
        from apps.webhooks.outbox import OF_ROWS
        from apps.webhooks.rules import Event

        OF_ROWS[Event.DISTILLATION] = said_of_run
        OF_ROWS[Event.LEARNING_VERSION] = said_of_version
