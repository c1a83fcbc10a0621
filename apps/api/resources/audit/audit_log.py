"""REST resources of the audit log: change records, refused attempts, verifications of the hash chain, and the export by days.

Only people may read them. A POST to verifications computes every hash again.
"""

from typing import Any, ClassVar, Final

from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpResponse
from django.utils.http import content_disposition_header
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.framework.base_views import RowViewSet
from apps.api.openapi.schema import refusal_response
from apps.api.protocol.content_negotiation import JsonLinesRenderer, TextRenderer, file_type
from apps.api.protocol.filters import CharFilter, ChoiceFilter, FilterSet, IdFilter, SearchFilter
from apps.api.protocol.query_parameters import reject_unknown_parameters
from apps.api.protocol.serializers import RowSerializer
from apps.governance.actors import Role
from apps.governance.models import AuditCheck, AuditLink, ChangeRecord, Refusal, Taint
from apps.governance.policy.policy_table import Act
from apps.tenants.audit_export import FINDINGS_SHOWN, MOST_ENTRIES, export_audit_log, refuse_export, verify_tenant_log

EXPORT_TYPES: Final = (JsonLinesRenderer, TextRenderer)
TOO_MANY_ENTRIES: Final = refusal_response(409, f"There are more than {MOST_ENTRIES:,} entries.")
DAY_PARAMETERS: Final = (
    OpenApiParameter("since", OpenApiTypes.DATE, required=True, description="In the tenant's time zone."),
    OpenApiParameter("until", OpenApiTypes.DATE, required=True, description="This day is included."),
)


class VerificationSerializer(RowSerializer[AuditCheck]):
    """One verification: its time, the number of entries, and the number of findings."""

    class Meta:
        model = AuditCheck
        fields = ("id", "position", "sha256", "finding_count", "created_at")
        read_only_fields = fields


class ChainFindingSerializer(serializers.Serializer[Any]):
    """An entry that was removed, reordered, altered or inserted."""

    row = serializers.CharField()
    kind = serializers.CharField(source="kind.value")
    detail = serializers.CharField()


class VerificationResultSerializer(serializers.Serializer[Any]):
    """The result of a verification."""

    position = serializers.IntegerField(help_text="Position of the last link of the chain.")
    sha256 = serializers.CharField()
    entry_count = serializers.IntegerField()
    finding_count = serializers.SerializerMethodField()
    findings = serializers.SerializerMethodField(help_text=f"The first {FINDINGS_SHOWN}.")

    def get_finding_count(self, verified: Any) -> int:
        """Return the number of findings; 0 if all entries are unchanged."""
        return len(verified.findings)

    @extend_schema(responses=ChainFindingSerializer(many=True))
    def get_findings(self, verified: Any) -> Any:
        """Return the findings, one per row."""
        return ChainFindingSerializer(verified.findings[:FINDINGS_SHOWN], many=True).data


class ExportDaysSerializer(serializers.Serializer[Any]):
    """The days of the audit log to export."""

    since = serializers.DateField()
    until = serializers.DateField()


class VerificationFilters(FilterSet):
    """No filters: there are few rows."""


class VerificationView(RowViewSet[AuditCheck]):
    """Verifications of the tenant's audit log, newest first. For people."""

    # No act: no governed row changes.
    acts: ClassVar = {"create": ()}
    waiting: ClassVar = frozenset({"post"})
    queryset = AuditCheck.objects.none()
    serializer_class = VerificationSerializer
    filterset_class = VerificationFilters
    for_people = True

    def get_queryset(self) -> QuerySet[AuditCheck]:
        """Return the rows of the tenant."""
        return AuditCheck.objects.filter(tenant_id=self.actor.tenant_id)

    @extend_schema(request=None, responses={201: VerificationResultSerializer, **TOO_MANY_ENTRIES})
    def create(self, request: Request) -> Response:
        """Compute every hash of the audit log again, and record that this was done."""
        return Response(VerificationResultSerializer(verify_tenant_log(self.actor)).data, status=201)

    @extend_schema(
        parameters=list(DAY_PARAMETERS),
        responses={**{(200, each.media_type): OpenApiTypes.STR for each in EXPORT_TYPES}, **TOO_MANY_ENTRIES},
        filters=False,
    )
    @action(detail=False, methods=["get"], url_name="export", renderer_classes=(JSONRenderer, *EXPORT_TYPES))
    def export(self, request: Request) -> HttpResponse:
        """Export some days of the audit log, one line per entry, without the texts of changes. Admins only."""
        refuse_export(self.actor)
        reject_unknown_parameters(request, {each.name for each in DAY_PARAMETERS})
        asked = ExportDaysSerializer(data=request.query_params)
        asked.is_valid(raise_exception=True)
        exported = export_audit_log(self.actor, **asked.validated_data)
        name = content_disposition_header(as_attachment=True, filename=exported.name)
        headers = {"Content-Disposition": name, "Cache-Control": "private, no-store"}
        return HttpResponse(exported.text, content_type=file_type(request, JsonLinesRenderer), headers=headers)


ACTOR_FIELDS = ("actor_role", "actor_label", "actor_user_id", "agent_id")
ROLE_CHOICES = [(role.value, role.value) for role in Role]
ACT_CHOICES = [(act.value, act.value) for act in Act]


class ChangeRecordSerializer(RowSerializer[ChangeRecord]):
    """One governed change, without its texts, and its position in the audit chain."""

    position = serializers.IntegerField(
        read_only=True, allow_null=True, help_text="Position of its link in the audit chain."
    )
    link_sha256 = serializers.CharField(read_only=True, allow_null=True)

    class Meta:
        model = ChangeRecord
        fields = (
            "id",
            "act",
            "subject_type",
            "subject_id",
            "subject_label",
            *ACTOR_FIELDS,
            "version_before",
            "version_after",
            "evidence",
            "taint",
            "text_sha256",
            "created_at",
            "position",
            "link_sha256",
        )
        read_only_fields = fields


class RefusalSerializer(RowSerializer[Refusal]):
    """One refused attempt, and its position in the audit chain."""

    position = serializers.IntegerField(
        read_only=True, allow_null=True, help_text="Position of its link in the audit chain."
    )
    link_sha256 = serializers.CharField(read_only=True, allow_null=True)

    class Meta:
        model = Refusal
        fields = (
            "id",
            "act",
            "code",
            "detail",
            "subject_type",
            "subject_id",
            *ACTOR_FIELDS,
            "created_at",
            "position",
            "link_sha256",
        )
        read_only_fields = fields


class AuditEntryFilters(FilterSet):
    """Filter by act, row and actor."""

    act = ChoiceFilter(choices=ACT_CHOICES)
    subject_type = CharFilter(help_text="Such as skills.skill.")
    subject_id = IdFilter()
    actor_role = ChoiceFilter(choices=ROLE_CHOICES)
    actor_label = CharFilter(help_text="Such as agent:support or operator:7.")


class ChangeRecordFilters(AuditEntryFilters):
    """Filter by source too."""

    taint = ChoiceFilter(choices=Taint.choices)
    search = SearchFilter("subject_label", "actor_label")


class RefusalFilters(AuditEntryFilters):
    """Filter by code too."""

    code = CharFilter(help_text="Such as not_permitted.")
    search = SearchFilter("actor_label", "detail")


class ChangeRecordView(RowViewSet[ChangeRecord]):
    """Change records of the tenant, newest first."""

    queryset = ChangeRecord.objects.none()
    serializer_class = ChangeRecordSerializer
    filterset_class = ChangeRecordFilters
    for_people = True

    def get_queryset(self) -> QuerySet[ChangeRecord]:
        """Return every row; the view is for people only."""
        rows = ChangeRecord.objects.filter(tenant_id=self.actor.tenant_id)
        return rows.annotate(**_audit_position(AuditLink.EntryType.CHANGE))


class RefusalView(RowViewSet[Refusal]):
    """Refused attempts of the tenant, newest first."""

    queryset = Refusal.objects.none()
    serializer_class = RefusalSerializer
    filterset_class = RefusalFilters
    for_people = True

    def get_queryset(self) -> QuerySet[Refusal]:
        """Return every row; the view is for people only."""
        rows = Refusal.objects.filter(tenant_id=self.actor.tenant_id)
        return rows.annotate(**_audit_position(AuditLink.EntryType.REFUSAL))


def _audit_position(kind: AuditLink.EntryType) -> dict[str, Subquery]:
    links = AuditLink.objects.filter(tenant_id=OuterRef("tenant_id"), entry_type=kind, entry_id=OuterRef("pk"))
    return {"position": Subquery(links.values("position")[:1]), "link_sha256": Subquery(links.values("sha256")[:1])}
