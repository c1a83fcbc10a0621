"""List filters by id, key, state and words. Each value is validated before it reaches the database."""

from typing import Any, Final

from django import forms
from django.db.models import Q, QuerySet
from django_filters import FilterSet  # type: ignore[import-untyped]  # django-filter ships no types
from django_filters.filters import BooleanFilter, CharFilter, ChoiceFilter, DateFilter, Filter  # type: ignore[import-untyped]  # the same
from django_filters.rest_framework import DjangoFilterBackend as FilterBackend  # type: ignore[import-untyped]  # the same
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.views import APIView

__all__ = [
    "AgentFilters",
    "BooleanFilter",
    "CharFilter",
    "ChoiceFilter",
    "DateFilter",
    "DjangoFilterBackend",
    "FilterSet",
    "IdFilter",
    "SearchFilter",
]

# Each word adds one condition per searched field for every row.
SEARCH_WORDS: Final = 10
SEARCH_CHARACTERS: Final = 200


@extend_schema_field(OpenApiTypes.INT64)
class IdFilter(Filter):
    """Filters by the id of a related row."""

    field_class = forms.IntegerField


class SearchFilter(CharFilter):
    """Filters by words: each must occur in one of the named fields, as in the console's search."""

    def __init__(self, *fields: str, **options: Any) -> None:
        self.searched = fields
        field_names = ", ".join(field.replace("__", "'s ").replace("_", " ") for field in fields)
        super().__init__(
            **{"help_text": f"Up to {SEARCH_WORDS} words, each of which stands in: {field_names}.", **options}
        )

    def filter(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        """Return the rows that contain all of the words."""
        words = value.split()
        if len(words) > SEARCH_WORDS or len(value) > SEARCH_CHARACTERS:
            most = f"Search for at most {SEARCH_WORDS} words and {SEARCH_CHARACTERS} characters."
            raise ValidationError({str(self.field_name): [most]})
        for word in words:
            anywhere = Q()
            for field in self.searched:
                anywhere |= Q(**{f"{field}__icontains": word})
            rows = rows.filter(anywhere)
        return rows


class DjangoFilterBackend(FilterBackend):
    """Validates filters with a form; skips building the form if the request names no filter and none is required."""

    def filter_queryset(self, request: Request, queryset: Any, view: APIView) -> Any:
        """Return the filtered rows."""
        filters = getattr(getattr(view, "filterset_class", None), "base_filters", {})
        needs_no_form = not any(each.extra["required"] for each in filters.values())
        if needs_no_form and filters.keys().isdisjoint(request.query_params):
            return queryset
        return super().filter_queryset(request, queryset, view)


class AgentFilters(FilterSet):
    """Filter by the agent's key."""

    agent_key = CharFilter(field_name="agent__key", help_text="Key of the agent.")
