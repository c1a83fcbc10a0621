"""How lists are narrowed: by ids, keys and states, each checked before the database sees it."""

from django import forms
from django_filters import FilterSet  # type: ignore[import-untyped]  # django-filter ships no types
from django_filters.filters import BooleanFilter, CharFilter, ChoiceFilter, DateFilter, Filter  # type: ignore[import-untyped]  # the same
from django_filters.rest_framework import DjangoFilterBackend  # type: ignore[import-untyped]  # the same
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field

__all__ = [
    "AgentFilters",
    "BooleanFilter",
    "CharFilter",
    "ChoiceFilter",
    "DateFilter",
    "DjangoFilterBackend",
    "FilterSet",
    "IdFilter",
]


@extend_schema_field(OpenApiTypes.INT64)
class IdFilter(Filter):
    """Rows that refer to an id."""

    field_class = forms.IntegerField


class AgentFilters(FilterSet):
    """By the agent's key."""

    agent_key = CharFilter(field_name="agent__key", help_text="Key of the agent.")
