"""Pages of lists, newest first. A cursor stays valid while rows are added, and every page costs the same."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar, cast

from django.core.exceptions import ValidationError as FieldRefusal
from django.db.models import Field, Model, QuerySet
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.filters import OrderingFilter
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.views import APIView

FOREIGN_CURSOR = "This cursor belongs to another list. Use `next` exactly as the list returned it."


class RowPagination(CursorPagination):
    """Pages of fifty rows by default, at most a hundred."""

    page_size = 50
    max_page_size = 100
    page_size_query_param = "page_size"
    ordering = "-id"
    template = None

    def decode_cursor(self, request: Request) -> Any:
        """Decode the cursor. An unreadable cursor is refused as an invalid value, not as a missing page."""
        try:
            return super().decode_cursor(request)
        except NotFound as refusal:
            raise ValidationError({"cursor": [FOREIGN_CURSOR]}) from refusal

    def paginate_queryset(self, queryset: Any, request: Request, view: APIView | None = None) -> list[Any] | None:
        """Return a page; a forged cursor is refused before it reaches the database."""
        cursor = self.decode_cursor(request)
        if cursor and cursor.position is not None and view is not None:
            name = self.get_ordering(request, queryset, view)[0].lstrip("-")
            _check_position(queryset.model, name, str(cursor.position))
        return super().paginate_queryset(queryset, request, view)


class TranscriptPagination(RowPagination):
    """Pages of a transcript, oldest first. The last page also has the messages that wait for an answer, as `waiting`."""

    ordering = "position"

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Describe the page with its waiting messages."""
        described = super().get_paginated_response_schema(schema)
        described["properties"]["waiting"] = {"type": "array", "items": self.waiting_schema}
        described["required"] = [*described.get("required", ()), "waiting"]
        return described

    waiting_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "description": "A message without an answer. It enters the transcript when its turn ends.",
        "required": ["event_id", "sender", "text", "received_at"],
        "properties": {
            "event_id": {"type": "integer"},
            "sender": {"type": "string"},
            "text": {"type": "string"},
            "received_at": {"type": "string", "format": "date-time"},
        },
    }


class RowOrdering(OrderingFilter):
    """Ordering by `ordering=name` or `-name`; ties are sorted newest first, and a name that is not offered is refused."""

    allowed: ClassVar[Sequence[str]] = ("id", "name", "updated_at")

    def get_ordering(self, request: Request, queryset: QuerySet[Any], view: APIView) -> tuple[str, ...]:
        """Return the requested order with a unique tie-breaker."""
        asked = request.query_params.get(self.ordering_param, "-id")
        if asked.removeprefix("-") not in self.allowed:
            raise ValidationError({"ordering": [f"Order by one of: {', '.join(self.allowed)}; a minus reverses it."]})
        return (asked,) if asked.removeprefix("-") == "id" else (asked, "-id")


def _check_position(model: type[Model], name: str, position: str) -> None:
    foreign = ValidationError({"cursor": [FOREIGN_CURSOR]})
    if "\x00" in position:
        raise foreign
    try:
        value = cast("Field[Any, Any]", model._meta.get_field(name)).to_python(position)
    except (FieldRefusal, OverflowError) as refusal:
        raise foreign from refusal
    # Our cursors are in UTC. PostgreSQL does not accept a date without an offset as a moment, nor every offset known to Python.
    if isinstance(value, datetime) and value.utcoffset() != timedelta(0):
        raise foreign
