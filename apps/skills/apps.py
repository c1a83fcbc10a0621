"""Skills as a Django app."""

from django.apps import AppConfig


class SkillsConfig(AppConfig):
    """The app configuration of skills."""

    name = "apps.skills"
