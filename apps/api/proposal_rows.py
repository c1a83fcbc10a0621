"""How a proposal is shown."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework.serializers import CharField, IntegerField, Serializer, SerializerMethodField

from apps.api.rows import STAMPS, Shown, agent_key
from apps.governance.models import Proposal


class ProposalRow(Shown[Proposal]):
    """A change that waits, or what became of it. `content_sha256` is what an approval names."""

    agent_key = agent_key()

    class Meta:
        model = Proposal
        fields: tuple[str, ...] = (
            "id",
            "agent_key",
            "kind",
            "state",
            "risk",
            "target_type",
            "target_id",
            "target_label",
            "base_version",
            "base_sha256",
            "content",
            "edited_content",
            "edited_by",
            "content_sha256",
            "rationale",
            "evidence",
            "support_count",
            "proposed_by",
            "approval_count",
            "expires_at",
            "snoozed_until",
            "claimed_by",
            "claimed_at",
            "revision_request",
            "decided_by",
            "decided_at",
            "reason_code",
            "decision_reason",
            "quarantine_reason",
            *STAMPS,
            "ignored_fields",
        )
        read_only_fields = fields


class Refused(Serializer[Proposal]):
    """What was rejected before, and why."""

    id = IntegerField()
    reason_code = CharField()
    decision_reason = CharField()


class ProposalAnswer(ProposalRow):
    """What was handed in, and what people said no to before."""

    rejected_before = SerializerMethodField()

    class Meta(ProposalRow.Meta):
        fields = (*ProposalRow.Meta.fields, "rejected_before")
        read_only_fields = fields

    @extend_schema_field(Refused(many=True))
    def get_rejected_before(self, row: Proposal) -> list[dict[str, Any]]:
        """The last few."""
        del row
        return [dict(Refused(each).data) for each in self.context.get("rejected_before", [])]
