"""Addresses of rows' pages in the console."""

from typing import Final

from django.db.models import Model
from django.urls import NoReverseMatch, reverse

from apps.runtime.explain.exposure import EXPOSED_MODELS

EXPOSURE_MODELS: Final = {model._meta.label_lower: model for model in EXPOSED_MODELS}


def url_of_subject(subject_type: str, subject_id: int) -> str:
    """Return the page of a record's or proposal's subject; empty where the console has none."""
    try:
        return reverse(f"admin:{subject_type.replace('.', '_')}_change", args=[subject_id])
    except NoReverseMatch:
        return ""


def url_of_versions(subject_type: str, subject_id: int) -> str:
    """Return the page of all versions of a row; empty where the console has none."""
    page = f"admin:{subject_type.replace('.', '_')}_versions"
    try:
        return f"{reverse(page, args=[subject_id])}#changes"
    except NoReverseMatch:
        return ""


def exposure_url(row: Model) -> str:
    """Return the exposure page of a row; empty if no prompt carries such rows."""
    label = row._meta.label_lower
    return reverse("admin:exposure", args=[label, row.pk]) if label in EXPOSURE_MODELS else ""
