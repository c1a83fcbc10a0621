"""Converts rows that PostgreSQL returned as JSON into Django model instances."""

from collections.abc import Mapping
from typing import Any, TypeVar

from django.db.models import Model

Row = TypeVar("Row", bound=Model)
# Any: JSON as PostgreSQL made it of rows.
JsonRow = Mapping[str, Any]


def row_from_json(kind: type[Row], json_row: JsonRow) -> Row:
    """The model instance of a row that was read as JSON."""
    fields = kind._meta.concrete_fields
    return kind.from_db("default", [f.attname for f in fields], [f.to_python(json_row[str(f.column)]) for f in fields])
