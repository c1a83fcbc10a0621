"""What a reviewer reads beside a proposal: both texts, what the change reaches, who has to agree and who has."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.api.proposal_rows import ProposalRow
from apps.governance.models import Proposal
from apps.review.appliers.base import Beside
from apps.review.proposal_sheet import Sheet


class ChangedField(serializers.Serializer[Any]):
    """One field: what the proposer read, what is live, what would be."""

    field = serializers.CharField(source="name")
    base = serializers.JSONField(allow_null=True)
    live = serializers.JSONField(allow_null=True)
    after = serializers.JSONField(allow_null=True)


class ApprovalRow(serializers.Serializer[Any]):
    """One reviewer's yes to the words that stand there."""

    by = serializers.CharField(source="user_label")
    created_at = serializers.DateTimeField()
    content_sha256 = serializers.CharField()
    is_edited = serializers.BooleanField()
    confirmed_findings = serializers.ListField(child=serializers.CharField())
    reason = serializers.CharField()


class ReadFile(serializers.Serializer[Beside]):
    """A file that is approved with the words."""

    name = serializers.CharField()
    media_type = serializers.CharField()
    size_bytes = serializers.IntegerField()
    sha256 = serializers.CharField()
    uploaded_by = serializers.CharField()
    findings = serializers.ListField(child=serializers.CharField(), help_text="What the scanner points at in it.")
    text = serializers.CharField(allow_null=True, help_text="Its text, or the beginning of it; null if it is none.")
    note = serializers.CharField(help_text="What a reviewer has to look at by themselves, if anything.")


class ReviewSheet(serializers.Serializer[Sheet]):
    """What a decision asks for, as proposal and target stand now."""

    effect = serializers.CharField(source="applier.consequence")
    changes = ChangedField(many=True, source="fields")
    risk_factors = serializers.ListField(
        child=serializers.CharField(), source="touches", help_text="What the change reaches; it makes the risk."
    )
    reviewers = serializers.IntegerField(source="panel.reviewers", help_text="How many have to agree.")
    may_self_approve = serializers.BooleanField(
        source="panel.may_self_approve", help_text="True: a person who proposed or edited the text may be one of them."
    )
    is_author = serializers.BooleanField(help_text="Whether that is you.")
    approvals = ApprovalRow(many=True)
    findings = serializers.ListField(
        child=serializers.CharField(), help_text="What the scanner points at and a yes has to confirm."
    )
    files = ReadFile(many=True, help_text="What is approved with the words.")
    needs_rebase = serializers.BooleanField(help_text="Whether what is live is not what the proposer read.")
    needs_edited_content = serializers.BooleanField(
        help_text="Whether a yes has to say, field by field, what the free text comes to."
    )
    left_out = serializers.ListField(
        child=serializers.CharField(), help_text="The proposed sections that a reviewer did not take."
    )
    can_undo = serializers.BooleanField(help_text="Whether a yes can be taken back for a minute.")

    def to_representation(self, instance: Sheet) -> Any:
        """Names of what is touched in the order of the alphabet."""
        shown = super().to_representation(instance)
        return {**shown, "risk_factors": sorted(shown["risk_factors"])}


class ProposalDetail(ProposalRow):
    """A proposal with what a reviewer reads beside it; for an agent, that is null."""

    review = serializers.SerializerMethodField()

    class Meta(ProposalRow.Meta):
        fields = (*ProposalRow.Meta.fields, "review")
        read_only_fields = fields

    @extend_schema_field(ReviewSheet(allow_null=True))
    def get_review(self, row: Proposal) -> dict[str, Any] | None:
        """For people alone."""
        del row
        sheet = self.context["sheet"]
        return None if sheet is None else dict(ReviewSheet(sheet).data)
