"""Conversations as a Django app."""

from django.apps import AppConfig


class ConversationsConfig(AppConfig):
    """The app configuration of conversations."""

    name = "apps.conversations"
