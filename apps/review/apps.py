"""Reviews as a Django app."""

from django.apps import AppConfig


class ReviewConfig(AppConfig):
    """The app configuration of reviews."""

    name = "apps.review"
