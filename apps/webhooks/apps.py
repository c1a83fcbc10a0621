"""Webhooks as a Django app."""

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    """The app configuration of webhooks."""

    name = "apps.webhooks"
