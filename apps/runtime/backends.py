"""The model a worker talks to. Only workers import this module: the vendor's SDK takes a second and a half to load."""

from functools import cache

from django.conf import settings

from apps.llm.anthropic import AnthropicBackend
from apps.llm.backend import Backend


@cache
def turn_backend() -> Backend:
    """One client per process, for the endpoint the environment names."""
    return AnthropicBackend(settings.ANTHROPIC_API_KEY, base_url=settings.ANTHROPIC_BASE_URL or None)
