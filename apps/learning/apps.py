"""The Django app of learning."""

from django.apps import AppConfig


class LearningConfig(AppConfig):
    """The Django app configuration of learning."""

    name = "apps.learning"

    def ready(self) -> None:
        """Register the webhook payloads for learning rows."""
        from apps.learning.distillation.webhook_payload import run_payload
        from apps.learning.lessons.webhook_payload import version_payload  # needs loaded models
        from apps.webhooks.outbox import PAYLOAD_BUILDERS
        from apps.webhooks.rules import WebhookEvent

        PAYLOAD_BUILDERS[WebhookEvent.DISTILLATION] = run_payload
        PAYLOAD_BUILDERS[WebhookEvent.LEARNING_VERSION] = version_payload
