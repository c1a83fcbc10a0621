"""Response serializers: the base class `RowSerializer`, and a cached plan per class that renders list rows fast.

REST framework builds a serializer's fields for every request and calls each field for every row, which takes most of the time
of a list of fifty rows. The plan decides once per serializer class which fields are plain. REST framework renders all other
fields as usual.

`RowSerializer` fields are read-only. Responses to writes also name the fields that were stripped from the request.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, Final, TypeVar

from django.core.exceptions import FieldDoesNotExist, ObjectDoesNotExist
from django.db.models import Model, QuerySet
from django.db.models.constants import LOOKUP_SEP
from rest_framework import serializers
from rest_framework.fields import Field, SkipField
from rest_framework.relations import PKOnlyObject

from apps.api.protocol.deprecation import Deprecation

# Field types whose representation depends only on the value.
PLAIN_FIELD_TYPES: Final = (
    *(serializers.CharField, serializers.BooleanField, serializers.FloatField, serializers.BigIntegerField),
    *(serializers.IntegerField, serializers.DateTimeField, serializers.DateField, serializers.ChoiceField),
    serializers.JSONField,
)
# Fields that only responses to writes have, and that are not read from the row.
WRITE_RESPONSE_FIELDS: Final = frozenset({"ignored_fields", "notice"})

Value = Any  # a column value, or its JSON form


@dataclass(frozen=True, slots=True)
class ColumnField:
    """A field read from the row's `column` or attribute, without another query."""

    name: str
    column: str
    read: Callable[[Model], Value]
    tell: Callable[[Value], Value] | None

    def told(self, value: Value) -> Value:
        """Return the representation of the field's value in a row."""
        return value if value is None or self.tell is None else self.tell(value)


@dataclass(frozen=True, slots=True)
class ComputedField:
    """A field that REST framework renders, such as a nested row or a method of the serializer."""

    name: str


@cache
def serialization_plan(kind: type[serializers.ModelSerializer[Any]]) -> tuple[ColumnField | ComputedField, ...]:
    """Return the plan for a serializer class, in field order.

    The plan is built from a separate instance, so it keeps no request alive.
    """
    return tuple(_plan_field(name, field, kind) for name, field in _readable_fields(kind).items())


def serialize_row(row: Model | dict[str, Value], serializer: serializers.ModelSerializer[Any]) -> dict[str, Value]:
    """Return the row as the serializer represents it. The row may be a dictionary of columns from `only_needed_columns`."""
    steps = serialization_plan(type(serializer))
    if isinstance(row, dict):
        return {step.name: step.told(row[step.column]) for step in steps if isinstance(step, ColumnField)}
    shown: dict[str, Value] = {}
    for step in steps:
        if isinstance(step, ColumnField):
            try:
                value = step.read(row)
            except (AttributeError, ObjectDoesNotExist):
                _compute_field(serializer, step.name, row, shown)
                continue
            shown[step.name] = step.told(value)
        else:
            _compute_field(serializer, step.name, row, shown)
    return shown


def only_needed_columns(
    rows: QuerySet[Any], kind: type[serializers.ModelSerializer[Any]], beside: Iterable[str]
) -> QuerySet[Any]:
    """Restrict the query to the columns that the serializer shows, plus `beside`.

    Returns the rows unchanged if some fields are not plain.
    """
    columns = None if rows.query.select_related is True else _columns_of(kind, frozenset(rows.query.annotations))
    return rows if columns is None else rows.values(*dict.fromkeys((*columns, *beside)))


@cache
def _columns_of(kind: type[serializers.ModelSerializer[Any]], annotated: frozenset[str]) -> tuple[str, ...] | None:
    """Return the columns of the serializer's fields; None if some fields are not plain."""
    steps = serialization_plan(kind)
    columns = tuple(step.column for step in steps if isinstance(step, ColumnField))
    are_all = len(columns) == len(steps) and all(
        column in annotated or _is_column(kind.Meta.model, column) for column in columns
    )
    return columns if are_all else None


def _is_column(model: type[Model], column: str) -> bool:
    """Return whether the path leads to a column, through non-null references only."""
    *references, name = column.split(LOOKUP_SEP)
    try:
        for reference in references:
            field = model._meta.get_field(reference)
            if not field.many_to_one or field.null or field.related_model is None:
                return False
            model = field.related_model
        return bool(model._meta.get_field(name).concrete)
    except FieldDoesNotExist:
        return False


def _readable_fields(kind: type[serializers.ModelSerializer[Any]]) -> Mapping[str, Any]:
    fields = kind().fields
    return {name: field for name, field in fields.items() if not field.write_only and name not in WRITE_RESPONSE_FIELDS}


def _plan_field(name: str, field: Any, kind: type[serializers.ModelSerializer[Any]]) -> ColumnField | ComputedField:
    if not _is_plain(field) or callable(getattr(kind.Meta.model, field.source, None)):
        return ComputedField(name)
    return ColumnField(name, field.source.replace(".", LOOKUP_SEP), attrgetter(field.source), _converter(field))


def _is_plain(field: Any) -> bool:
    """Return whether the field renders exactly like one of the plain types."""
    kind = next((plain for plain in PLAIN_FIELD_TYPES if isinstance(field, plain)), None)
    own = type(field)
    return (
        kind is not None
        and field.source != "*"
        and own.to_representation is kind.to_representation
        and own.get_attribute is Field.get_attribute
    )


def _converter(field: Any) -> Callable[[Value], Value] | None:
    if isinstance(field, serializers.DateTimeField):
        return _moment_converter(field)
    if isinstance(field, serializers.IntegerField | serializers.BooleanField | serializers.FloatField):
        # psycopg already returns these in their JSON form.
        return None
    tell: Callable[[Value], Value] = field.to_representation
    return tell


def _moment_converter(field: serializers.DateTimeField) -> Callable[[Value], Value]:
    def tell(value: datetime) -> Value:
        if value.tzinfo is UTC:
            return f"{value.isoformat()[:-6]}Z"
        return field.to_representation(value)

    return tell


def _compute_field(
    serializer: serializers.ModelSerializer[Any], name: str, row: Model, shown: dict[str, Value]
) -> None:
    """Render a field through REST framework."""
    field = serializer.fields[name]
    try:
        value = field.get_attribute(row)
    except SkipField:
        return
    is_none = (value.pk if isinstance(value, PKOnlyObject) else value) is None
    shown[name] = None if is_none else field.to_representation(value)


Row = TypeVar("Row", bound=Model)

STAMP_FIELDS = ("taint", "version", "created_at", "updated_at")


class RowSerializer(serializers.ModelSerializer[Row]):
    """Base serializer of a governed row in a response."""

    # Deprecated fields.
    deprecated: ClassVar[Mapping[str, Deprecation]] = {}

    ignored_fields = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="Only in responses to writes: known fields that were sent and stripped.",
    )

    notice = serializers.CharField(
        required=False,
        help_text="Only in responses to writes of which a part waits for a person: names both parts.",
    )

    def to_representation(self, instance: Any) -> Any:
        """Render the row; after a write, add the fields that were stripped."""
        shown = serialize_row(instance, self)
        if "ignored_fields" in self.context:
            shown["ignored_fields"] = self.context["ignored_fields"]
        if self.context.get("notice"):
            shown["notice"] = self.context["notice"]
        return shown


def agent_key() -> serializers.CharField:
    """Return a field that shows the key of the row's agent instead of its id."""
    return serializers.CharField(source="agent.key", read_only=True)
