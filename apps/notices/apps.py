"""Notices as a Django app."""

from django.apps import AppConfig


class NoticesConfig(AppConfig):
    """The app configuration of notices."""

    name = "apps.notices"
