"""Wiring only: environment, settings, Celery, URLs and entry points; no rule of the product lives here."""

from config.celery import app as celery_app

__all__ = ["celery_app"]
