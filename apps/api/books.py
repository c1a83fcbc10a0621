"""The books by REST: every change record and every refused attempt of the tenant. For people, to read."""

from django.db.models import OuterRef, QuerySet, Subquery
from rest_framework import serializers

from apps.api.filters import CharFilter, ChoiceFilter, FilterSet, IdFilter, SearchFilter
from apps.api.rows import Shown
from apps.api.views import Rows
from apps.governance.actors import Role
from apps.governance.models import AuditLink, ChangeRecord, Refusal, Taint
from apps.governance.policy.table import Act

WHO = ("actor_role", "actor_label", "actor_user_id", "agent_id")
ROLES = [(role.value, role.value) for role in Role]
ACTS = [(act.value, act.value) for act in Act]


class ChangeRow(Shown[ChangeRecord]):
    """One governed change, without its words, and its place in the audit chain."""

    position = serializers.IntegerField(read_only=True, allow_null=True, help_text="Of its link in the audit chain.")
    link_sha256 = serializers.CharField(read_only=True, allow_null=True)

    class Meta:
        model = ChangeRecord
        fields = (
            "id",
            "act",
            "subject_type",
            "subject_id",
            "subject_label",
            *WHO,
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


class RefusalRow(Shown[Refusal]):
    """One refused attempt, and its place in the audit chain."""

    position = serializers.IntegerField(read_only=True, allow_null=True, help_text="Of its link in the audit chain.")
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
            *WHO,
            "created_at",
            "position",
            "link_sha256",
        )
        read_only_fields = fields


class EntryFilters(FilterSet):
    """By act, row and actor."""

    act = ChoiceFilter(choices=ACTS)
    subject_type = CharFilter(help_text="Such as skills.skill.")
    subject_id = IdFilter()
    actor_role = ChoiceFilter(choices=ROLES)
    actor_label = CharFilter(help_text="Such as agent:support or operator:7.")


class ChangeFilters(EntryFilters):
    """By whose words they are, too."""

    taint = ChoiceFilter(choices=Taint.choices)
    search = SearchFilter("subject_label", "actor_label")


class RefusalFilters(EntryFilters):
    """By code, too."""

    code = CharFilter(help_text="Such as not_permitted.")
    search = SearchFilter("actor_label", "detail")


class ChangeView(Rows[ChangeRecord]):
    """Change records of the tenant, the newest first."""

    queryset = ChangeRecord.objects.none()
    serializer_class = ChangeRow
    filterset_class = ChangeFilters
    for_people = True

    def get_queryset(self) -> QuerySet[ChangeRecord]:
        """All of them, for a reviewer."""
        rows = ChangeRecord.objects.filter(tenant_id=self.actor.tenant_id)
        return rows.annotate(**_place(AuditLink.EntryType.CHANGE))


class RefusalView(Rows[Refusal]):
    """Refused attempts of the tenant, the newest first."""

    queryset = Refusal.objects.none()
    serializer_class = RefusalRow
    filterset_class = RefusalFilters
    for_people = True

    def get_queryset(self) -> QuerySet[Refusal]:
        """All of them, for a reviewer."""
        rows = Refusal.objects.filter(tenant_id=self.actor.tenant_id)
        return rows.annotate(**_place(AuditLink.EntryType.REFUSAL))


def _place(kind: AuditLink.EntryType) -> dict[str, Subquery]:
    links = AuditLink.objects.filter(tenant_id=OuterRef("tenant_id"), entry_type=kind, entry_id=OuterRef("pk"))
    return {"position": Subquery(links.values("position")[:1]), "link_sha256": Subquery(links.values("sha256")[:1])}
