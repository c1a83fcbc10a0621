"""Response serializers of proposals: list row, detail, review sheet, and impact.

The review sheet shows both texts, the required approvals and the given ones. The sheet and the impact are for people.
"""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.serializers import CharField, FloatField, IntegerField, ListField, Serializer, SerializerMethodField

from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer, agent_key
from apps.governance.models import Proposal
from apps.prompt.prompt_diff import PromptSizeDiff, SlotSizeDiff
from apps.review.appliers.base import ReviewedFile
from apps.review.review_sheet import ProposalSheet
from apps.runtime.explain.impact import Impact, ImpactCost


class SlotChangeSerializer(Serializer[SlotSizeDiff]):
    """A slot whose text would be another; 0 bytes is a slot that is left out."""

    slot = IntegerField()
    bytes_before = IntegerField(source="before")
    bytes_after = IntegerField(source="after")


class PromptChangeSerializer(Serializer[PromptSizeDiff]):
    """What becomes of one agent's prompt, in bytes of UTF-8."""

    slots = ListField(child=SlotChangeSerializer())
    bytes_added = IntegerField(source="added")
    bytes_rewritten = IntegerField(source="rewritten", help_text="Of slots 1-4, behind the first byte that differs.")
    bytes_shared = IntegerField(source="shared", help_text="Slots 1-4 as they would be.")


class CacheCostSerializer(Serializer[ImpactCost]):
    """Estimated, in millionths of a US dollar."""

    once_micro_usd = IntegerField(source="once", help_text="What a cache writes anew.")
    per_thousand_conversations_micro_usd = IntegerField(source="per_thousand", help_text="More, or less.")


class ImpactSerializer(Serializer[Impact]):
    """Counts are of the last thirty days, the latest 10,000 sessions at most."""

    agents = IntegerField(help_text="Whose prompts carry what would change.")
    sessions = IntegerField()
    sessions_a_day = FloatField()
    customers = IntegerField()
    schedules = IntegerField(help_text="Approved ones of these agents, or that follow this skill.")
    callers = IntegerField(help_text="Permissions of other agents to ask these.")
    fetched = IntegerField(allow_null=True, help_text="Conversations that fetched the skill; null for everything else.")
    agent_key = SerializerMethodField(help_text="Whose prompt was compared: of several agents, the busiest.")
    prompt = PromptChangeSerializer(allow_null=True, help_text="Null where the agent does not learn.")
    tokens_short = IntegerField(source="short_of", help_text="What slots 1-4 lack until the model caches; 0 is enough.")
    cost = CacheCostSerializer(allow_null=True, help_text="Null where the model has no price.")

    def get_agent_key(self, reach: Impact) -> str:
        """Empty where there is no agent."""
        return reach.agent.key if reach.agent else ""


class ProposalSerializer(RowSerializer[Proposal]):
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
            *STAMP_FIELDS,
            "ignored_fields",
        )
        read_only_fields = fields


class PriorRejectionSerializer(Serializer[Proposal]):
    """What was rejected before, and why."""

    id = IntegerField()
    reason_code = CharField()
    decision_reason = CharField()


class SubmittedProposalSerializer(ProposalSerializer):
    """What was handed in, and what people said no to before."""

    rejected_before = SerializerMethodField()

    class Meta(ProposalSerializer.Meta):
        fields = (*ProposalSerializer.Meta.fields, "rejected_before")
        read_only_fields = fields

    @extend_schema_field(PriorRejectionSerializer(many=True))
    def get_rejected_before(self, row: Proposal) -> list[dict[str, Any]]:
        """The last few."""
        return [dict(PriorRejectionSerializer(each).data) for each in self.context.get("rejected_before", [])]


class ChangedFieldSerializer(serializers.Serializer[Any]):
    """One field: what the proposer read, what is live, what would be."""

    field = serializers.CharField(source="name")
    base = serializers.JSONField(allow_null=True)
    live = serializers.JSONField(allow_null=True)
    after = serializers.JSONField(allow_null=True)


class ApprovalSerializer(serializers.Serializer[Any]):
    """One reviewer's yes to the words that stand there."""

    by = serializers.CharField(source="user_label")
    created_at = serializers.DateTimeField()
    content_sha256 = serializers.CharField()
    is_edited = serializers.BooleanField()
    confirmed_findings = serializers.ListField(child=serializers.CharField())
    reason = serializers.CharField()


class ReviewedFileSerializer(serializers.Serializer[ReviewedFile]):
    """A file that is approved with the words."""

    name = serializers.CharField()
    media_type = serializers.CharField()
    size_bytes = serializers.IntegerField()
    sha256 = serializers.CharField()
    uploaded_by = serializers.CharField()
    findings = serializers.ListField(child=serializers.CharField(), help_text="What the scanner points at in it.")
    text = serializers.CharField(allow_null=True, help_text="Its text, or the beginning of it; null if it is none.")
    note = serializers.CharField(help_text="What a reviewer has to look at by themselves, if anything.")


class ReviewSheetSerializer(serializers.Serializer[ProposalSheet]):
    """What a decision asks for, as proposal and target stand now."""

    effect = serializers.CharField(source="applier.consequence")
    changes = ChangedFieldSerializer(many=True, source="fields")
    risk_factors = serializers.ListField(
        child=serializers.CharField(), source="touches", help_text="What the change reaches; it makes the risk."
    )
    reviewers = serializers.IntegerField(source="panel.reviewers", help_text="How many have to agree.")
    may_self_approve = serializers.BooleanField(
        source="panel.may_self_approve", help_text="True: a person who proposed or edited the text may be one of them."
    )
    is_author = serializers.BooleanField(help_text="Whether that is you.")
    approvals = ApprovalSerializer(many=True)
    findings = serializers.ListField(
        child=serializers.CharField(), help_text="What the scanner points at and a yes has to confirm."
    )
    files = ReviewedFileSerializer(many=True, help_text="What is approved with the words.")
    needs_rebase = serializers.BooleanField(help_text="Whether what is live is not what the proposer read.")
    needs_edited_content = serializers.BooleanField(
        help_text="Whether a yes has to say, field by field, what the free text comes to."
    )
    left_out = serializers.ListField(
        child=serializers.CharField(), help_text="The proposed sections that a reviewer did not take."
    )
    can_undo = serializers.BooleanField(help_text="Whether a yes can be taken back for a minute.")

    def to_representation(self, instance: ProposalSheet) -> Any:
        """Names of what is touched in the order of the alphabet."""
        shown = super().to_representation(instance)
        return {**shown, "risk_factors": sorted(shown["risk_factors"])}


class ProposalDetailSerializer(ProposalSerializer):
    """A proposal with what a reviewer reads beside it; for an agent, that is null."""

    review = serializers.SerializerMethodField()

    class Meta(ProposalSerializer.Meta):
        fields = (*ProposalSerializer.Meta.fields, "review")
        read_only_fields = fields

    @extend_schema_field(ReviewSheetSerializer(allow_null=True))
    def get_review(self, row: Proposal) -> dict[str, Any] | None:
        """For people alone."""
        sheet = self.context["sheet"]
        return None if sheet is None else dict(ReviewSheetSerializer(sheet).data)
