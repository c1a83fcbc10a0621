"""Comments as a Django app."""

from django.apps import AppConfig


class CommentsConfig(AppConfig):
    """The app configuration of comments."""

    name = "apps.comments"
