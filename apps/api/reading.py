"""How the lines of a list are read: which fields are plain is settled once for each serializer class, not for each answer.

REST framework builds a serializer's fields anew for every request and asks each of them for every row, which for fifty rows
takes longer than everything else. Whatever is not plain is asked as ever.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from operator import attrgetter
from typing import Any, Final

from django.core.exceptions import ObjectDoesNotExist
from django.db.models import Model
from rest_framework import serializers
from rest_framework.fields import Field, SkipField
from rest_framework.relations import PKOnlyObject

# What each says of a value depends on the value alone.
PLAIN: Final = (
    *(serializers.CharField, serializers.IntegerField, serializers.BooleanField, serializers.FloatField),
    *(serializers.DateTimeField, serializers.DateField, serializers.ChoiceField, serializers.JSONField),
)
# Only answers to writes have them, and not from the row.
OF_WRITES: Final = frozenset({"ignored_fields", "notice"})

Value = Any  # what a column holds, and what JSON can say of it


@dataclass(frozen=True, slots=True)
class Plain:
    """A field that is read from its row and told without asking anybody."""

    name: str
    read: Callable[[Model], Value]
    tell: Callable[[Value], Value] | None


@dataclass(frozen=True, slots=True)
class Asked:
    """A field that tells by itself, such as a nested row or a method of the serializer."""

    name: str


@cache
def plan_of(kind: type[serializers.ModelSerializer[Any]]) -> tuple[Plain | Asked, ...]:
    """The fields of an answer in their order; of a serializer of its own, so that no request is held on to."""
    return tuple(_step(name, field, kind) for name, field in _readable(kind).items())


def told(row: Model, serializer: serializers.ModelSerializer[Any]) -> dict[str, Value]:
    """The row as the serializer shows it."""
    shown: dict[str, Value] = {}
    for step in plan_of(type(serializer)):
        if isinstance(step, Plain):
            try:
                value = step.read(row)
            except (AttributeError, ObjectDoesNotExist):
                _ask(serializer, step.name, row, shown)
                continue
            shown[step.name] = value if value is None or step.tell is None else step.tell(value)
        else:
            _ask(serializer, step.name, row, shown)
    return shown


def _readable(kind: type[serializers.ModelSerializer[Any]]) -> Mapping[str, Any]:
    fields = kind().fields
    return {name: field for name, field in fields.items() if not field.write_only and name not in OF_WRITES}


def _step(name: str, field: Any, kind: type[serializers.ModelSerializer[Any]]) -> Plain | Asked:
    if not _is_plain(field) or callable(getattr(kind.Meta.model, field.source, None)):
        return Asked(name)
    return Plain(name, attrgetter(field.source), _teller(field))


def _is_plain(field: Any) -> bool:
    """One of the kinds above, whatever it checks of what is sent."""
    kind = next((plain for plain in PLAIN if isinstance(field, plain)), None)
    own = type(field)
    return (
        kind is not None
        and field.source != "*"
        and own.to_representation is kind.to_representation
        and own.get_attribute is Field.get_attribute
    )


def _teller(field: Any) -> Callable[[Value], Value] | None:
    if isinstance(field, serializers.DateTimeField):
        return _moment(field)
    if isinstance(field, serializers.IntegerField | serializers.BooleanField | serializers.FloatField):
        # The database gives them as what they are.
        return None
    tell: Callable[[Value], Value] = field.to_representation
    return tell


def _moment(field: serializers.DateTimeField) -> Callable[[Value], Value]:
    def tell(value: datetime) -> Value:
        if value.tzinfo is UTC:
            return f"{value.isoformat()[:-6]}Z"
        return field.to_representation(value)

    return tell


def _ask(serializer: serializers.ModelSerializer[Any], name: str, row: Model, shown: dict[str, Value]) -> None:
    """As REST framework asks a field."""
    field = serializer.fields[name]
    try:
        value = field.get_attribute(row)
    except SkipField:
        return
    is_none = (value.pk if isinstance(value, PKOnlyObject) else value) is None
    shown[name] = None if is_none else field.to_representation(value)
