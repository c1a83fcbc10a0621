"""Comments of people on proposals. Agents do not see them; an agent reads `revision_request` instead."""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.framework.base_views import RowViewSet
from apps.api.framework.row_actions import decision_action
from apps.api.protocol.filters import AgentFilters, ChoiceFilter, IdFilter, SearchFilter
from apps.api.protocol.request_bodies import RequestBody, StrictIntegerField, StrictTextField
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer
from apps.governance.actors import ANYWHERE
from apps.governance.governed_write import authorize
from apps.governance.models import Proposal
from apps.governance.policy.policy_table import Act
from apps.review.comment_actions import add_comment, withdraw_comment
from apps.review.models import Comment
from apps.review.rules import COMMENT_CHARACTERS


class CommentSerializer(RowSerializer[Comment]):
    """One comment. A withdrawn one has no text any more."""

    agent_key = serializers.CharField(
        source="agent.key",
        default=None,
        allow_null=True,
        read_only=True,
        help_text="Null: the proposal concerns no single agent.",
    )
    proposal_id = serializers.IntegerField(read_only=True, help_text="The proposal of the comment.")

    class Meta:
        model = Comment
        fields = ("id", "proposal_id", "agent_key", "text", "status", "author", *STAMP_FIELDS, "ignored_fields")
        read_only_fields = fields


class AddCommentBody(RequestBody):
    """The proposal and the text of the comment."""

    acts = (Act.COMMENT_ADD,)
    shown = frozenset(CommentSerializer.Meta.fields)

    proposal_id = StrictIntegerField(help_text="A proposal in any state.")
    text = StrictTextField(help_text=f"Markdown, up to {COMMENT_CHARACTERS} characters.")


class CommentFilters(AgentFilters):
    """Filter by proposal, agent and state."""

    proposal_id = IdFilter(help_text="The proposal of the comments.")
    status = ChoiceFilter(choices=Comment.Status.choices)
    search = SearchFilter("text")


class CommentView(RowViewSet[Comment]):
    """Comments on the tenant's proposals, newest first."""

    acts: ClassVar = {"create": (Act.COMMENT_ADD,), "withdraw": (Act.COMMENT_WITHDRAW,)}
    queryset = Comment.objects.none()
    serializer_class = CommentSerializer
    filterset_class = CommentFilters
    for_people = True

    def get_queryset(self) -> QuerySet[Comment]:
        """Return all comments, withdrawn ones without their text."""
        return Comment.objects.visible_to(self.actor).select_related("agent")

    @extend_schema(request=AddCommentBody, responses={201: CommentSerializer})
    def create(self, request: Request) -> Response:
        """Comment on a proposal, for other reviewers. The proposal does not change."""
        authorize(self.actor, Act.COMMENT_ADD, self.actor.tenant_id, agent_id=ANYWHERE)
        sent = AddCommentBody.read(request, self.actor)
        comment = add_comment(
            self._find_proposal(sent.values["proposal_id"]), actor=self.actor, text=sent.values["text"]
        )
        return self.answer(comment.pk, sent.ignored, 201)

    withdraw = decision_action(
        "withdraw",
        Act.COMMENT_WITHDRAW,
        withdraw_comment,
        CommentSerializer,
        "Withdraw your own comment. Its text stays in the change history only.",
    )

    def _find_proposal(self, proposal_id: int) -> Proposal:
        proposal = Proposal.objects.visible_to(self.actor).filter(pk=proposal_id).first()
        if proposal is None:
            raise ValidationError({"proposal_id": ["There is no such proposal."]})
        return proposal
