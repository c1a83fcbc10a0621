"""Reports as a Django app."""

from django.apps import AppConfig


class ReportsConfig(AppConfig):
    """The app configuration of reports."""

    name = "apps.reports"
