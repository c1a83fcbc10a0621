"""Versions of a row, for people: the values after each change, its author, and the differences between two versions."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.framework.base_views import Row, RowViewSet
from apps.api.openapi.schema import refusal_response
from apps.api.protocol.pagination import RowPagination
from apps.api.protocol.point_in_time import RowVersionSerializer
from apps.api.protocol.query_parameters import read_version_number, reject_unknown_parameters
from apps.governance.audit.row_history import field_differences, numbered_versions, records_of, version_of
from apps.governance.errors import NotPermitted

PARAMETERS = frozenset({"from", "to", "cursor", "page_size"})
BOTH_VERSIONS_ADVICE = "Give both version numbers, such as from=1 and to=3."


class FieldDifferenceSerializer(serializers.Serializer[Any]):
    """One field, with its value in both versions."""

    field = serializers.CharField()
    before = serializers.JSONField(allow_null=True)
    after = serializers.JSONField(allow_null=True)


class VersionPageSerializer(serializers.Serializer[Any]):
    """A page of versions; with `from` and `to`, those two and the fields that differ."""

    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = RowVersionSerializer(many=True)
    difference = FieldDifferenceSerializer(many=True, required=False)


class VersionedViewSet(RowViewSet[Row]):
    """Adds the version history to the addresses of a noun."""

    @extend_schema(
        parameters=[
            OpenApiParameter("from", OpenApiTypes.INT, description="With `to`: the first version to compare."),
            OpenApiParameter("to", OpenApiTypes.INT, description="With `from`: the second version to compare."),
            OpenApiParameter("cursor", OpenApiTypes.STR),
            OpenApiParameter("page_size", OpenApiTypes.INT),
        ],
        responses={
            200: VersionPageSerializer,
            **refusal_response(410, "The text of one of these versions was erased."),
        },
        filters=False,
    )
    @action(detail=True, methods=["get"], pagination_class=RowPagination)
    def versions(self, request: Request, pk: str) -> Response:
        """List the versions of the row, newest first; with `from` and `to`, also the fields that differ between the two.

        People only.
        """
        if not self.actor.is_person:
            raise NotPermitted("Only people may read the history of a row. An agent's token cannot.")
        row: Any = self.get_object()  # Any: a governed row of some noun
        query = request.query_params
        reject_unknown_parameters(request, PARAMETERS)
        if "from" in query or "to" in query:
            before, after = numbered_versions(
                row, [read_version_number(request, name, BOTH_VERSIONS_ADVICE) for name in ("from", "to")]
            )
            found = FieldDifferenceSerializer(field_differences(before, after), many=True).data
            both = RowVersionSerializer([before, after], many=True).data
            return Response({"next": None, "previous": None, "results": both, "difference": found})
        records: Any = records_of(row._meta.label_lower, row.pk)  # Any: the page is not of the noun
        page = self.paginate_queryset(records)
        return self.get_paginated_response(
            RowVersionSerializer([version_of(record) for record in page or ()], many=True).data
        )
