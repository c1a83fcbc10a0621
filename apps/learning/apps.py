"""Learning as a Django app."""

from django.apps import AppConfig


class LearningConfig(AppConfig):
    """The app configuration of learning."""

    name = "apps.learning"

    def ready(self) -> None:
        """Register the payloads that webhooks receive about learning rows."""
        from apps.learning.distillation.webhook_payload import run_payload
        from apps.learning.lessons.webhook_payload import version_payload  # the models are loaded only now
        from apps.webhooks.outbox import PAYLOAD_BUILDERS
        from apps.webhooks.rules import WebhookEvent

        PAYLOAD_BUILDERS[WebhookEvent.DISTILLATION] = run_payload
        PAYLOAD_BUILDERS[WebhookEvent.LEARNING_VERSION] = version_payload
