"""The model a worker talks to. Only workers import this module: the vendor's SDK takes a second and a half to load."""

from django.conf import settings

from apps.llm.anthropic.client import backend_at
from apps.llm.backend import Backend


def turn_backend() -> Backend:
    """The endpoint the environment names."""
    return backend_at(settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL)
