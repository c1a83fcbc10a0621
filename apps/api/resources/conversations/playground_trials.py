"""The playground: a person tries an agent, as it is or with a proposal applied. Trials are private and off the record."""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import IntegerField

from apps.api.framework.base_views import RowViewSet
from apps.api.framework.row_actions import decision_action
from apps.api.protocol.request_bodies import (
    OptionalVersionBody,
    RequestBody,
    StrictIntegerField,
    StrictTextField,
    rename_error_fields,
)
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer, agent_key
from apps.api.resources.agents.agents import agent_id_named
from apps.api.resources.conversations.assistant_talks import TalkFilters, TalkMessageView
from apps.conversations.actions import abandon_conversation
from apps.conversations.member_talks import open_trial
from apps.conversations.models import Conversation
from apps.governance.actors import ANYWHERE, Actor
from apps.governance.errors import Invalid
from apps.governance.governed_write import authorize
from apps.governance.models import Proposal
from apps.governance.policy.policy_table import Act
from apps.review.review_sheet import trial_blocker
from apps.runtime.off_the_record_erasure import erase_if_due


class TrialSerializer(RowSerializer[Conversation]):
    """A trial in the playground; `messages/` and `events/` list its messages."""

    agent_key = agent_key()
    proposal_id = IntegerField(
        source="trial_proposal_id", read_only=True, allow_null=True, help_text="Null: the agent as it is for customers."
    )

    class Meta:
        model = Conversation
        fields = ("id", "agent_key", "proposal_id", "status", "erased_at", *STAMP_FIELDS, "ignored_fields")
        read_only_fields = fields


class OpenTrialBody(RequestBody):
    """The agent, and optionally the proposal to try."""

    acts = (Act.CONVERSATION_TALK,)
    shown = frozenset(TrialSerializer.Meta.fields)

    agent_key = StrictTextField(help_text="An agent that talks to customers.")
    proposal_id = StrictIntegerField(
        required=False,
        allow_null=True,
        help_text="A proposal that the trial treats as approved. Left out: the agent as it is for customers.",
    )


class TrialView(RowViewSet[Conversation]):
    """The playground trials of the person who asks."""

    acts: ClassVar = {"create": (Act.CONVERSATION_TALK,), "erase": (Act.CONVERSATION_ABANDON,)}
    queryset = Conversation.objects.none()
    serializer_class = TrialSerializer
    filterset_class = TalkFilters
    for_people = True

    def get_queryset(self) -> QuerySet[Conversation]:
        """Return the trials of the acting person only."""
        return trials_of(self.actor)

    @extend_schema(request=OpenTrialBody, responses={201: TrialSerializer})
    def create(self, request: Request) -> Response:
        """Begin a trial. Nothing is learned from it, nobody is notified, and its messages are erased automatically."""
        authorize(self.actor, Act.CONVERSATION_TALK, self.actor.tenant_id, agent_id=ANYWHERE)
        sent = OpenTrialBody.read(request, self.actor)
        agent_id, proposal_id = agent_id_named(sent.values["agent_key"], self.actor), sent.values.get("proposal_id")
        _refuse_untriable(proposal_id, self.actor)
        with rename_error_fields(agent="agent_key", proposal="proposal_id"):
            trial = open_trial(agent_id, actor=self.actor, proposal_id=proposal_id)
        return self.answer(trial.pk, sent.ignored, 201)

    @staticmethod
    def _close_and_erase(trial: Conversation, *, actor: Actor, read_at: int | None = None) -> None:
        abandon_conversation(trial, actor=actor, read_at=read_at)
        erase_if_due(trial.tenant_id, trial.pk)

    erase = decision_action(
        "erase",
        Act.CONVERSATION_ABANDON,
        _close_and_erase,
        TrialSerializer,
        "End the trial and erase its messages, at once or as soon as the reply that is being written has ended.",
        OptionalVersionBody,
    )


class TrialMessageView(TalkMessageView):
    """Takes a person's messages in the playground, as a customer's."""

    def talks(self, actor: Actor) -> QuerySet[Conversation]:
        """Return the person's trials."""
        return trials_of(actor)


def trials_of(actor: Actor) -> QuerySet[Conversation]:
    """Return the person's trials."""
    return Conversation.objects.visible_to(actor).trials_of(actor.user_id).select_related("agent")


def _refuse_untriable(proposal_id: int | None, actor: Actor) -> None:
    # A proposal that does not exist, or is not open, is refused when the trial opens.
    proposal = Proposal.objects.visible_to(actor).open().filter(pk=proposal_id or 0).first()
    if proposal is not None and (flaw := trial_blocker(proposal, actor)):
        raise Invalid(flaw, {"proposal_id": [flaw]})
