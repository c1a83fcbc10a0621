"""Notices as a Django app."""

from django.apps import AppConfig


class NoticesConfig(AppConfig):
    """The app configuration of notices."""

    name = "apps.notifications"

    def ready(self) -> None:
        """Register the payload that webhooks receive about reviews."""
        from apps.notifications.review_webhooks import review_payload  # the models are loaded only now
        from apps.webhooks.outbox import PAYLOAD_BUILDERS
        from apps.webhooks.rules import WebhookEvent

        PAYLOAD_BUILDERS[WebhookEvent.REVIEW] = review_payload
