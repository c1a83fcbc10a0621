"""Distilled tiers of agents' memory, and the runs of the distiller (R168-R176)."""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import ChoiceField

from apps.api.framework.base_views import RowViewSet
from apps.api.framework.row_actions import decision_action
from apps.api.framework.versions import VersionedViewSet
from apps.api.protocol.filters import AgentFilters, ChoiceFilter, SearchFilter
from apps.api.protocol.request_bodies import DecisionBody, RequestBody, StrictIntegerField, StrictTextField
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer, agent_key
from apps.api.resources.agents.agents import agent_id_named
from apps.governance.policy.policy_table import Act
from apps.learning.distillation.models import TierRun
from apps.learning.distillation.tier_editing import correct_tier, run_tier
from apps.memory.models import MemoryTier
from apps.memory.tier_actions import approve_tier, clear_tier


class MemoryTierSerializer(RowSerializer[MemoryTier]):
    """A tier as prompts carry it, each fact with its evidence."""

    agent_key = agent_key()

    class Meta:
        model = MemoryTier
        fields = ("id", "agent_key", "tier", "status", "body", "facts", "updated_by", *STAMP_FIELDS, "ignored_fields")
        read_only_fields = fields


class TierRunSerializer(RowSerializer[TierRun]):
    """One run. A rewrite that was refused is in `proposed_facts`."""

    agent_key = agent_key()

    class Meta:
        model = TierRun
        fields = (
            *(
                "id",
                "agent_key",
                "tier",
                "verdict",
                "reasons",
                "proposed_facts",
                "facts_before",
                "facts_after",
                "requested_by",
            ),
            *("model", "is_stand_in", "input_tokens", "output_tokens", "cost_micro_usd", "created_at"),
        )
        read_only_fields = fields


class UpdateTierBody(RequestBody):
    """New facts: one line each, starting with a hyphen; `- !` marks a fact that stays permanently."""

    shown = frozenset(MemoryTierSerializer.Meta.fields)
    acts = (Act.TIER_AMEND,)
    whole = ("body",)

    body = StrictTextField(required=False)
    version = StrictIntegerField(required=False)
    reason = StrictTextField(required=False)


class RunTierBody(RequestBody):
    """The tier and agent to distill."""

    bare = True

    agent_key = StrictTextField()
    tier = ChoiceField(MemoryTier.Tier.choices)


class TierFilters(AgentFilters):
    """Filter by agent, tier and state."""

    tier = ChoiceFilter(choices=MemoryTier.Tier.choices)
    status = ChoiceFilter(choices=MemoryTier.Status.choices)
    search = SearchFilter("agent__key", "body")


class TierRunFilters(AgentFilters):
    """Filter by agent, tier and verdict."""

    tier = ChoiceFilter(choices=MemoryTier.Tier.choices)
    verdict = ChoiceFilter(choices=TierRun.Verdict.choices)


class TierView(VersionedViewSet[MemoryTier]):
    """Tiers of the tenant's agents. An agent sees its own."""

    acts: ClassVar = {
        "partial_update": (Act.TIER_AMEND,),
        "approve": (Act.TIER_APPROVE,),
        "clear": (Act.TIER_CLEAR,),
        "run": (Act.TIER_RUN,),
    }
    queryset = MemoryTier.objects.none()
    serializer_class = MemoryTierSerializer
    filterset_class = TierFilters

    def get_queryset(self) -> QuerySet[MemoryTier]:
        """Return the rows that the actor may see."""
        return MemoryTier.objects.visible_to(self.actor).select_related("agent")

    @extend_schema(request=UpdateTierBody, responses=MemoryTierSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Correct a tier. The next rewrite starts from this text. People only."""
        row = self.get_object()
        sent = UpdateTierBody.read(request, self.actor, row)
        why = sent.reason
        correct_tier(row, actor=self.actor, text=sent.values["body"], read_at=sent.read_at, reason=why)
        return self.answer(row.pk, sent.ignored)

    @extend_schema(request=UpdateTierBody, responses=MemoryTierSerializer)
    def update(self, request: Request, pk: str) -> Response:
        """Same as PATCH: a tier has no other field than its facts."""
        return self.partial_update(request, pk)

    approve = decision_action(
        "approve",
        Act.TIER_APPROVE,
        approve_tier,
        MemoryTierSerializer,
        "Approve the distilled text. The next session carries it as prose. People only.",
    )

    @extend_schema(request=DecisionBody, responses={204: None})
    @action(detail=True, methods=["post"])
    def clear(self, request: Request, pk: str) -> Response:
        """Delete the tier. The next run starts it again. People only."""
        row = self.get_object()
        sent = DecisionBody.read(request, self.actor)
        clear_tier(row, actor=self.actor, read_at=sent.read_at, reason=sent.reason)
        return Response(status=204)

    @extend_schema(request=RunTierBody, responses={202: None})
    @action(detail=False, methods=["post"])
    def run(self, request: Request) -> Response:
        """Distill a tier within a minute. `tier-runs` shows the result. People only."""
        sent = RunTierBody.read(request, self.actor)
        run_tier(agent_id_named(sent.values["agent_key"], self.actor), sent.values["tier"], actor=self.actor)
        return Response(status=202)


class TierRunView(RowViewSet[TierRun]):
    """Runs of the distiller."""

    queryset = TierRun.objects.none()
    serializer_class = TierRunSerializer
    filterset_class = TierRunFilters
    for_people = True

    def get_queryset(self) -> QuerySet[TierRun]:
        """Return every row; the view is for people only."""
        return TierRun.objects.filter(tenant_id=self.actor.tenant_id).select_related("agent")
