"""Notices as a Django app."""

from django.apps import AppConfig


class NoticesConfig(AppConfig):
    """The app configuration of notices."""

    name = "apps.notifications"

    def ready(self) -> None:
        """Say what webhooks are told of reviews."""
        from apps.notifications.review_webhooks import said_of_review  # models are there only now
        from apps.webhooks.outbox import OF_ROWS
        from apps.webhooks.rules import Event

        OF_ROWS[Event.REVIEW] = said_of_review
