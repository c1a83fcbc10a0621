"""What an answer shows of a row is what REST framework would show of it, field by field, though fewer fields are asked."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext
from rest_framework import serializers
from rest_framework.request import Request

from apps.api.framework.base_views import RowViewSet
from apps.api.protocol.serializers import (
    WRITE_RESPONSE_FIELDS,
    ColumnField,
    RowSerializer,
    only_needed_columns,
    serialization_plan,
    serialize_row,
)
from apps.api.urls import router
from apps.governance.database.actor_transaction import acting_as
from tests.support.worlds.filled_world import Filled
from tests.support.worlds.world import World

pytestmark = pytest.mark.kernel


def shown_kinds() -> Iterator[tuple[type[RowViewSet[Any]], type[RowSerializer[Any]]]]:
    for _, view, _ in router.registry:
        if issubclass(view, RowViewSet):
            for kind in {view.serializer_class, view.line_class}:
                if kind is not None and issubclass(kind, RowSerializer):
                    yield view, kind


def list_views(world: World) -> Iterator[tuple[RowViewSet[Any], type[RowSerializer[Any]]]]:
    """Each view as it answers for a list, with what it shows of a row."""
    for view_class, kind in shown_kinds():
        view = view_class()
        view.request = Request(RequestFactory().get("/"))
        view.request.auth, view.action, view.kwargs, view.format_kwarg = world.operator, "list", {}, None
        yield view, kind


def lines_of(
    view: RowViewSet[Any], kind: type[RowSerializer[Any]], rows: "QuerySet[Any]"
) -> tuple[list[dict[str, Any]], int]:
    """What is told of the first rows, and how many statements it took."""
    with CaptureQueriesContext(connection) as asked:
        lines = [serialize_row(row, kind(row, context=view.get_serializer_context())) for row in rows[:3]]
    return lines, len(asked)


def test_every_row_is_shown_as_rest_framework_would_show_it(filled: Filled) -> None:
    compared = 0
    with acting_as(filled.world.operator):
        for view, kind in list_views(filled.world):
            for row in view.get_queryset()[:3]:
                serializer = kind(row, context=view.get_serializer_context())
                expected = serializers.ModelSerializer.to_representation(serializer, row)
                assert list(serialize_row(row, serializer)) == [
                    name for name in expected if name not in WRITE_RESPONSE_FIELDS
                ]
                assert serialize_row(row, serializer) == {
                    name: expected[name] for name in expected if name not in WRITE_RESPONSE_FIELDS
                }
                compared += 1
    assert compared > 30


@pytest.mark.slow
def test_a_list_reads_no_more_columns_than_it_shows_and_none_of_them_later(filled: Filled) -> None:
    fewer = 0
    with acting_as(filled.world.operator):
        for view, kind in list_views(filled.world):
            rows = view.get_queryset()
            few = only_needed_columns(rows, kind, ["id"])
            assert lines_of(view, kind, few) == lines_of(view, kind, rows), kind
            fewer += any(isinstance(row, dict) for row in few[:1])
    assert fewer > 15


def test_most_fields_are_read_without_asking_anybody() -> None:
    steps = [step for _, kind in shown_kinds() for step in serialization_plan(kind)]
    assert sum(isinstance(step, ColumnField) for step in steps) > 0.8 * len(steps)
