"""Switches as a Django app."""

from django.apps import AppConfig


class SwitchesConfig(AppConfig):
    """The app configuration of switches."""

    name = "apps.kill_switches"
