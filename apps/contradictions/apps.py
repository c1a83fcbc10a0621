"""Contradictions as a Django app."""

from django.apps import AppConfig


class ContradictionsConfig(AppConfig):
    """The app configuration of contradictions."""

    name = "apps.contradictions"
