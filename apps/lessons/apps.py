"""Lessons as a Django app."""

from django.apps import AppConfig


class LessonsConfig(AppConfig):
    """The app configuration of lessons."""

    name = "apps.lessons"
