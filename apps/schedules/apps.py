"""Schedules as a Django app."""

from django.apps import AppConfig


class SchedulesConfig(AppConfig):
    """The app configuration of schedules."""

    name = "apps.schedules"
