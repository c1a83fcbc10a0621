"""Verifications of the books: which there were, another one at a word, and the books of some days to compute them again."""

from typing import Any, ClassVar, Final

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils.http import content_disposition_header
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.filters import FilterSet
from apps.api.queries import refuse_unknown
from apps.api.rows import Shown
from apps.api.schema import refusal
from apps.api.views import Rows
from apps.governance.models import AuditCheck
from apps.tenants.audit_export import FINDINGS_SHOWN, MOST, export, refuse_export, verify

JSONL: Final = "application/jsonl"
TOO_MANY: Final = refusal(409, f"There are more than {MOST:,} entries.")
DAYS: Final = (
    OpenApiParameter("since", OpenApiTypes.DATE, required=True, description="By the tenant's clock."),
    OpenApiParameter("until", OpenApiTypes.DATE, required=True, description="That day included."),
)


class VerificationRow(Shown[AuditCheck]):
    """When the books were verified, how far they reached, and how much was wrong."""

    class Meta:
        model = AuditCheck
        fields = ("id", "position", "sha256", "finding_count", "created_at")
        read_only_fields = fields


class FindingRow(serializers.Serializer[Any]):
    """An entry that is not what it was."""

    row = serializers.CharField()
    kind = serializers.CharField(source="kind.value")
    detail = serializers.CharField()


class VerifiedRow(serializers.Serializer[Any]):
    """What a verification came to."""

    position = serializers.IntegerField(help_text="Of the last link of the chain.")
    sha256 = serializers.CharField()
    entry_count = serializers.IntegerField()
    finding_count = serializers.SerializerMethodField()
    findings = serializers.SerializerMethodField(help_text=f"The first {FINDINGS_SHOWN}.")

    def get_finding_count(self, verified: Any) -> int:
        """0 where all entries stand as they were written."""
        return len(verified.findings)

    @extend_schema(responses=FindingRow(many=True))
    def get_findings(self, verified: Any) -> Any:
        """What is wrong, row by row."""
        return FindingRow(verified.findings[:FINDINGS_SHOWN], many=True).data


class Days(serializers.Serializer[Any]):
    """Which days of the books."""

    since = serializers.DateField()
    until = serializers.DateField()


class VerificationFilters(FilterSet):
    """None: they are few."""


class VerificationView(Rows[AuditCheck]):
    """Verifications of the tenant's books, the newest first; for people."""

    # No act: nothing that is governed changes.
    acts: ClassVar = {"create": ()}
    waiting: ClassVar = frozenset({"post"})
    queryset = AuditCheck.objects.none()
    serializer_class = VerificationRow
    filterset_class = VerificationFilters
    for_people = True

    def get_queryset(self) -> QuerySet[AuditCheck]:
        """Those of the tenant."""
        return AuditCheck.objects.filter(tenant_id=self.actor.tenant_id)

    @extend_schema(request=None, responses={201: VerifiedRow, **TOO_MANY})
    def create(self, request: Request) -> Response:
        """Compute every hash of the books anew, and note in them that it was done."""
        del request
        return Response(VerifiedRow(verify(self.actor)).data, status=201)

    @extend_schema(parameters=list(DAYS), responses={(200, JSONL): OpenApiTypes.STR, **TOO_MANY}, filters=False)
    @action(detail=False, methods=["get"], url_name="export")
    def export(self, request: Request) -> HttpResponse:
        """The books of some days, a line for each entry, without the words of changes. Admins only."""
        refuse_export(self.actor)
        refuse_unknown(request, {each.name for each in DAYS})
        asked = Days(data=request.query_params)
        asked.is_valid(raise_exception=True)
        exported = export(self.actor, **asked.validated_data)
        name = content_disposition_header(as_attachment=True, filename=exported.name)
        headers = {"Content-Disposition": name, "Cache-Control": "private, no-store"}
        return HttpResponse(exported.text, content_type=JSONL, headers=headers)
