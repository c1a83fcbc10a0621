"""Response serializers of proposals: list row, detail, review sheet, and impact.

The review sheet shows both texts, the required approvals and the given ones. The sheet and the impact are for people.
"""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.serializers import (
    CharField,
    ChoiceField,
    FloatField,
    IntegerField,
    ListField,
    Serializer,
    SerializerMethodField,
)

from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer, agent_key
from apps.governance.models import Proposal
from apps.prompt.prompt_diff import PromptSizeDiff, SlotSizeDiff
from apps.review.appliers.base import ReviewedFile
from apps.review.review_sheet import ProposalSheet
from apps.runtime.explain.impact import Impact, ImpactCost


class SlotChangeSerializer(Serializer[SlotSizeDiff]):
    """A slot whose text would change. 0 bytes is a slot that is left out."""

    slot = IntegerField()
    bytes_before = IntegerField(source="before")
    bytes_after = IntegerField(source="after")


class PromptChangeSerializer(Serializer[PromptSizeDiff]):
    """The change of one agent's prompt, in bytes of UTF-8."""

    slots = ListField(child=SlotChangeSerializer())
    bytes_added = IntegerField(source="added")
    bytes_rewritten = IntegerField(
        source="rewritten", help_text="Bytes of slots 1-4 after the first byte that differs."
    )
    bytes_shared = IntegerField(source="shared", help_text="Bytes of slots 1-4 after the change.")


class CacheCostSerializer(Serializer[ImpactCost]):
    """Estimated cost, in millionths of a US dollar."""

    once_micro_usd = IntegerField(source="once", help_text="One-time cost of writing the cache again.")
    per_thousand_conversations_micro_usd = IntegerField(
        source="per_thousand", help_text="Change of the cost for a thousand conversations; may be negative."
    )


class ImpactSerializer(Serializer[Impact]):
    """The impact of an approval. Counts cover the last thirty days, and at most the latest 10,000 sessions."""

    agents = IntegerField(help_text="Number of agents whose prompts carry the changed content.")
    sessions = IntegerField()
    sessions_a_day = FloatField()
    customers = IntegerField()
    schedules = IntegerField(help_text="Number of approved schedules of these agents, or that follow this skill.")
    callers = IntegerField(help_text="Number of permissions of other agents to ask these.")
    fetched = IntegerField(
        allow_null=True, help_text="Number of conversations that fetched the skill; null for other targets."
    )
    agent_key = SerializerMethodField(help_text="The agent whose prompt was compared; of several agents the busiest.")
    prompt = PromptChangeSerializer(allow_null=True, help_text="Null if learning is off for the agent.")
    tokens_short = IntegerField(
        source="short_of", help_text="Tokens that slots 1-4 lack for the model to cache them; 0 if they have enough."
    )
    cost = CacheCostSerializer(allow_null=True, help_text="Null if the model has no price.")

    def get_agent_key(self, reach: Impact) -> str:
        """Return the key of the agent; empty if there is none."""
        return reach.agent.key if reach.agent else ""


class ProposalSerializer(RowSerializer[Proposal]):
    """A proposed change and its state. An approval names `content_sha256`."""

    agent_key = agent_key()
    state = ChoiceField(
        choices=Proposal.State.choices,
        source="current_state",
        read_only=True,
        help_text="expired from the moment on at which the time for a decision runs out.",
    )
    # Absent only from a proposal that was submitted a moment ago.
    needs_rebase = serializers.BooleanField(
        default=False,
        read_only=True,
        help_text="Whether it is open and its target has changed since it was proposed.",
    )

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
            "needs_rebase",
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
    """An earlier rejection and its reason."""

    id = IntegerField()
    reason_code = CharField()
    decision_reason = CharField()


class SubmittedProposalSerializer(ProposalSerializer):
    """The submitted proposal, and earlier rejections of the same change."""

    rejected_before = SerializerMethodField()

    class Meta(ProposalSerializer.Meta):
        fields = (*ProposalSerializer.Meta.fields, "rejected_before")
        read_only_fields = fields

    @extend_schema_field(PriorRejectionSerializer(many=True))
    def get_rejected_before(self, row: Proposal) -> list[dict[str, Any]]:
        """Return the latest rejections."""
        return [dict(PriorRejectionSerializer(each).data) for each in self.context.get("rejected_before", [])]


class ChangedFieldSerializer(serializers.Serializer[Any]):
    """One field: the value that the proposer read, the live value, and the proposed value."""

    field = serializers.CharField(source="name")
    base = serializers.JSONField(allow_null=True)
    live = serializers.JSONField(allow_null=True)
    after = serializers.JSONField(allow_null=True)


class ApprovalSerializer(serializers.Serializer[Any]):
    """One reviewer's approval of the current text."""

    by = serializers.CharField(source="user_label")
    created_at = serializers.DateTimeField()
    content_sha256 = serializers.CharField()
    is_edited = serializers.BooleanField()
    confirmed_findings = serializers.ListField(child=serializers.CharField())
    reason = serializers.CharField()


class ReviewedFileSerializer(serializers.Serializer[ReviewedFile]):
    """A file that is approved together with the text."""

    name = serializers.CharField()
    media_type = serializers.CharField()
    size_bytes = serializers.IntegerField()
    sha256 = serializers.CharField()
    uploaded_by = serializers.CharField()
    findings = serializers.ListField(child=serializers.CharField(), help_text="The scanner's findings in the file.")
    text = serializers.CharField(
        allow_null=True, help_text="The text of the file, or its beginning; null if it is not text."
    )
    note = serializers.CharField(help_text="A note on what the reviewer must check by hand, if anything.")


class ReviewSheetSerializer(serializers.Serializer[ProposalSheet]):
    """Everything a decision depends on, for the proposal and its target as they are now."""

    effect = serializers.CharField(source="applier.consequence")
    changes = ChangedFieldSerializer(many=True, source="fields")
    risk_factors = serializers.ListField(
        child=serializers.CharField(),
        source="touches",
        help_text="Sensitive areas that the change touches. They determine the risk.",
    )
    reviewers = serializers.IntegerField(source="panel.reviewers", help_text="Number of reviewers who must agree.")
    may_self_approve = serializers.BooleanField(
        source="panel.may_self_approve",
        help_text="True: a person who proposed or edited the text counts as a reviewer.",
    )
    is_author = serializers.BooleanField(help_text="Whether you proposed or edited the text.")
    approvals = ApprovalSerializer(many=True)
    findings = serializers.ListField(
        child=serializers.CharField(), help_text="The scanner's findings, which an approval must confirm."
    )
    files = ReviewedFileSerializer(many=True, help_text="Files that are approved together with the text.")
    needs_rebase = serializers.BooleanField(
        help_text="Whether the live content has changed since the proposer read it."
    )
    needs_edited_content = serializers.BooleanField(
        help_text="Whether an approval must give the resulting text of each field, because the proposal is free text."
    )
    left_out = serializers.ListField(
        child=serializers.CharField(), help_text="Proposed sections that a reviewer did not adopt."
    )
    can_undo = serializers.BooleanField(
        help_text="Whether the approval can still be undone. This is possible for a minute."
    )

    def to_representation(self, instance: ProposalSheet) -> Any:
        """Sort the names of touched areas."""
        shown = super().to_representation(instance)
        return {**shown, "risk_factors": sorted(shown["risk_factors"])}


class ProposalDetailSerializer(ProposalSerializer):
    """A proposal with its review sheet, which is null for an agent."""

    review = serializers.SerializerMethodField()

    class Meta(ProposalSerializer.Meta):
        fields = (*ProposalSerializer.Meta.fields, "review")
        read_only_fields = fields

    @extend_schema_field(ReviewSheetSerializer(allow_null=True))
    def get_review(self, row: Proposal) -> dict[str, Any] | None:
        """Return the review sheet, for people only."""
        sheet = self.context["sheet"]
        return None if sheet is None else dict(ReviewSheetSerializer(sheet).data)
