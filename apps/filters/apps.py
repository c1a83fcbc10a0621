"""Filters as a Django app."""

from django.apps import AppConfig


class FiltersConfig(AppConfig):
    """The app configuration of filters."""

    name = "apps.filters"
