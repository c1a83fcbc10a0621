"""JSON Schema of a request, from its body's fields or its list's filters, and from the limits of the act it performs."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.urls import resolve
from django_filters.filters import BooleanFilter, ChoiceFilter, Filter  # type: ignore[import-untyped]  # it ships no types
from rest_framework import serializers

from apps.api.framework.base_views import ActorView
from apps.api.framework.in_process_requests import API_ROOT
from apps.api.protocol.filters import IdFilter
from apps.api.protocol.request_bodies import RequestBody
from apps.governance.act_schemas import Schema, schema_of
from apps.governance.policy.policy_table import POLICY, Act

# Parameters that every list takes in addition to its filters.
PAGING_PARAMETERS: dict[str, Schema] = {
    "cursor": {"type": "string", "description": "Where the page before ended: its next_cursor."},
    "page_size": {"type": "integer", "minimum": 1, "maximum": 100, "description": "Rows of a page; left out, 50."},
}
_FIELD_TYPES: tuple[tuple[type[serializers.Field[Any, Any, Any, Any]], Schema], ...] = (
    (serializers.BooleanField, {"type": "boolean"}),
    (serializers.IntegerField, {"type": "integer"}),
    (serializers.ChoiceField, {"type": "string"}),
    (serializers.DateTimeField, {"type": "string", "format": "date-time"}),
    (serializers.DictField, {"type": "object"}),
    (serializers.ListField, {"type": "array"}),
    (serializers.CharField, {"type": "string"}),
)
# Serializer limits and the corresponding JSON Schema keywords.
_LIMIT_KEYWORDS = {"min_value": "minimum", "max_value": "maximum", "max_length": "maxLength"}


def handler_at(method: str, address: str) -> tuple[type[ActorView], str]:
    """Return the view at an address, and the name of its handler for the method, such as `partial_update` or `finish`."""
    found = resolve(f"{API_ROOT}{address}").func
    view: type[ActorView] = getattr(found, "cls", None) or found.view_class  # type: ignore[attr-defined]  # Django's own
    named: str = getattr(found, "actions", {}).get(method.lower(), method.lower())
    return view, str(getattr(getattr(view, named, None), "url_path", named))


def body_schema(body: type[RequestBody], names: Iterable[str]) -> Schema:
    """Return the schema of these body fields. The body's own descriptions take precedence over those of its acts."""
    fields = body().fields
    return {name: {**_governed_schema(name, body.acts), **_field_schema(fields[name])} for name in names}


def required_fields(body: type[RequestBody], names: Iterable[str]) -> list[str]:
    """Return which of these fields a request must contain."""
    fields = body().fields
    return [name for name in names if fields[name].required]


def filter_schemas(view: type[ActorView], names: Iterable[str]) -> Schema:
    """Return the schema of these filters of a list."""
    known = list_filters(view)
    return {name: _filter_schema(known[name]) for name in names}


def list_filters(view: type[ActorView]) -> dict[str, Any]:  # Any: django-filter's own
    """Return the filters of a list by name; empty if the address is not a list."""
    filters = getattr(view, "filterset_class", None)
    return dict(filters.base_filters) if filters else {}


def _governed_schema(name: str, acts: Iterable[Act]) -> Schema:
    for act in acts:
        # An act that only writes a journal governs no field.
        if POLICY[act].fields and (found := schema_of(act)["properties"].get(name)):
            return dict(found)
    return {}


def _field_schema(field: serializers.Field[Any, Any, Any, Any]) -> Schema:
    kind = next(shape for cls, shape in _FIELD_TYPES if isinstance(field, cls))
    schema: Schema = {**kind, **dict(_limits(field))}
    if isinstance(field, serializers.ChoiceField):
        schema["enum"] = list(field.choices)
    if isinstance(field, serializers.ListField) and field.child is not None:
        schema["items"] = _field_schema(field.child)
    if field.allow_null:
        schema["type"] = [schema["type"], "null"]
    return {**schema, "description": str(field.help_text)} if field.help_text else schema


def _limits(field: serializers.Field[Any, Any, Any, Any]) -> Iterator[tuple[str, int]]:
    for name, called in _LIMIT_KEYWORDS.items():
        value = getattr(field, name, None)
        # The limits of database integers would not help a client.
        if value is not None and value < 2**62:
            yield called, value


def _filter_schema(found: Filter) -> Schema:
    schema: Schema = {"type": "string"}
    if isinstance(found, IdFilter):
        schema = {"type": "integer"}
    elif isinstance(found, BooleanFilter):
        schema = {"type": "boolean"}
    elif isinstance(found, ChoiceFilter):
        schema = {"type": "string", "enum": [value for value, _ in found.extra["choices"]]}
    return {**schema, "description": str(found.extra["help_text"])} if found.extra.get("help_text") else schema
