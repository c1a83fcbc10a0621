"""Recurring edits: changes that people make to drafts repeatedly. People propose a rule from a cluster, or dismiss it (R138)."""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.framework.base_views import RowViewSet
from apps.api.framework.row_actions import decision_action
from apps.api.protocol.filters import AgentFilters, ChoiceFilter
from apps.api.protocol.request_bodies import RequestBody, StrictBooleanField, StrictIntegerField, StrictTextField
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer, agent_key
from apps.governance.policy.policy_table import Act
from apps.learning.lessons.actions import dismiss_cluster, reopen_cluster
from apps.learning.lessons.edit_cluster_proposals import propose_cluster_rule, propose_skill_change
from apps.learning.lessons.models import EditCluster, EditClusterCase

SUMMARY_FIELDS = (
    *(
        "id",
        "agent_key",
        "description",
        "rule",
        "category",
        "removed_text",
        "added_text",
        "support",
        "first_seen_at",
        "last_seen_at",
    ),
    *("status", "dismissal_reason", "proposal_id", "decided_by", "decided_at", *STAMP_FIELDS, "ignored_fields"),
)


class ClusterDraftSerializer(serializers.ModelSerializer[EditClusterCase]):
    """A draft with this edit."""

    draft_id = serializers.IntegerField(source="case.source_id", read_only=True)
    conversation_id = serializers.IntegerField(source="case.conversation_id", read_only=True, allow_null=True)
    happened_at = serializers.DateTimeField(source="case.happened_at", read_only=True)

    class Meta:
        model = EditClusterCase
        fields = ("draft_id", "conversation_id", "happened_at")
        read_only_fields = fields


class EditClusterSummarySerializer(RowSerializer[EditCluster]):
    """A cluster in a list. Personal data is masked."""

    agent_key = agent_key()
    description = serializers.CharField(
        source="sentence", read_only=True, help_text="The recurring edit, in one sentence."
    )
    rule = serializers.CharField(
        read_only=True, help_text="The rule that is proposed, unless a person writes another one."
    )
    support = serializers.IntegerField(read_only=True, help_text="Number of drafts with this edit.")
    first_seen_at = serializers.DateTimeField(read_only=True, allow_null=True)
    last_seen_at = serializers.DateTimeField(read_only=True, allow_null=True)
    proposal_id = serializers.IntegerField(read_only=True, allow_null=True)

    class Meta:
        model = EditCluster
        fields: tuple[str, ...] = SUMMARY_FIELDS
        read_only_fields = fields


class EditClusterSerializer(EditClusterSummarySerializer):
    """A cluster with its latest fifty drafts."""

    drafts = ClusterDraftSerializer(many=True, read_only=True, source="latest_members")

    class Meta(EditClusterSummarySerializer.Meta):
        fields = (*SUMMARY_FIELDS, "drafts")
        read_only_fields = fields


class ProposeEditClusterBody(RequestBody):
    """An approval of the row as it was read."""

    bare = True

    version = StrictIntegerField(required=False, help_text="The row's version that was read.")
    rule = StrictTextField(required=False, help_text="The rule in your own words; required if the row has none.")
    in_skill = StrictBooleanField(
        required=False,
        help_text="True: propose a line of the one approved skill behind all the drafts, instead of a rule.",
    )


class EditClusterFilters(AgentFilters):
    """Filter by agent and state."""

    status = ChoiceFilter(choices=EditCluster.Status.choices)


class EditClusterView(RowViewSet[EditCluster]):
    """Recurring edits of drafts, by agent."""

    acts: ClassVar = {
        "propose": (Act.EDIT_CLUSTER_PROPOSE,),
        "dismiss": (Act.EDIT_CLUSTER_DISMISS,),
        "reopen": (Act.EDIT_CLUSTER_REOPEN,),
    }
    queryset = EditCluster.objects.none()
    in_bulk = ("dismiss", "reopen")
    serializer_class = EditClusterSerializer
    line_class = EditClusterSummarySerializer
    filterset_class = EditClusterFilters
    for_people = True

    def get_queryset(self) -> QuerySet[EditCluster]:
        """Return every row; the view is for people only."""
        return EditCluster.objects.visible_to(self.actor).counted().select_related("agent")

    @extend_schema(request=ProposeEditClusterBody, responses=EditClusterSerializer)
    @action(detail=True, methods=["post"])
    def propose(self, request: Request, pk: str) -> Response:
        """Propose a rule, or a line of the skill behind the drafts, with the drafts as evidence."""
        cluster = self.get_object()
        sent = ProposeEditClusterBody.read(request, self.actor)
        call = propose_skill_change if sent.values.get("in_skill") else propose_cluster_rule
        call(cluster, actor=self.actor, read_at=sent.read_at, rule=sent.values.get("rule", ""))
        return self.answer(cluster.pk, sent.ignored)

    dismiss = decision_action(
        "dismiss",
        Act.EDIT_CLUSTER_DISMISS,
        dismiss_cluster,
        EditClusterSerializer,
        "Dismiss the cluster until three times as many drafts show the edit.",
    )
    reopen = decision_action(
        "reopen", Act.EDIT_CLUSTER_REOPEN, reopen_cluster, EditClusterSerializer, "Reopen the cluster."
    )
