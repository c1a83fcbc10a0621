"""Standing rules: rules that every agent of the organisation follows, or one agent (R052, R053, R188)."""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import CharField, ChoiceField

from apps.api.framework.versions import VersionedViewSet
from apps.api.protocol.filters import AgentFilters, ChoiceFilter, SearchFilter
from apps.api.protocol.request_bodies import ParsedBody, RequestBody, StrictIntegerField, StrictTextField
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer
from apps.api.resources.agents.agents import agent_id_named
from apps.governance.actors import ANYWHERE, Actor
from apps.governance.governed_write import authorize, refuse_stale
from apps.governance.policy.policy_table import Act
from apps.personas.actions import add_rule, amend_rule, restore_rule, retire_rule
from apps.personas.models import StandingRule

RULE_FIELDS = ("text", "position")


class StandingRuleSerializer(RowSerializer[StandingRule]):
    """A rule. One without an agent applies to the whole organisation."""

    agent_key = CharField(
        source="agent.key", read_only=True, allow_null=True, help_text="Null for a rule of the organisation."
    )

    class Meta:
        model = StandingRule
        fields = ("id", "agent_key", *RULE_FIELDS, "status", *STAMP_FIELDS, "ignored_fields")
        read_only_fields = fields


RESPONSE_FIELDS = frozenset(StandingRuleSerializer.Meta.fields)


class AddRuleBody(RequestBody):
    """A new rule of an agent, or of the organisation."""

    shown = RESPONSE_FIELDS
    acts = (Act.RULE_ADD,)

    agent_key = StrictTextField(
        required=False, allow_null=True, help_text="Left out or null: the rule applies to the whole organisation."
    )
    text = StrictTextField()
    position = StrictIntegerField(required=False, min_value=0)


class UpdateRuleBody(RequestBody):
    """A new text, position or status."""

    shown = RESPONSE_FIELDS
    acts = (
        Act.RULE_AMEND,
        Act.RULE_RETIRE,
        Act.RULE_RESTORE,
    )
    whole = ("text",)

    text = StrictTextField(required=False)
    position = StrictIntegerField(required=False, min_value=0)
    status = ChoiceField(StandingRule.Status.choices, required=False)
    version = StrictIntegerField(required=False)
    reason = StrictTextField(required=False)


class RuleFilters(AgentFilters):
    """Filter by agent and status."""

    status = ChoiceFilter(choices=StandingRule.Status.choices)
    search = SearchFilter("agent__key", "text")


class RuleView(VersionedViewSet[StandingRule]):
    """Rules of the tenant. An agent sees the organisation's and its own, and writes none."""

    acts: ClassVar = {
        "create": (Act.RULE_ADD,),
        "partial_update": (
            Act.RULE_AMEND,
            Act.RULE_RETIRE,
            Act.RULE_RESTORE,
        ),
        "destroy": (Act.RULE_RETIRE,),
    }
    queryset = StandingRule.objects.none()
    in_bulk = ("create", "update", "delete")
    serializer_class = StandingRuleSerializer
    filterset_class = RuleFilters

    def get_queryset(self) -> QuerySet[StandingRule]:
        """Return the rows that the actor may see."""
        return StandingRule.objects.visible_to(self.actor).select_related("agent")

    @extend_schema(request=AddRuleBody, responses={201: StandingRuleSerializer})
    def create(self, request: Request) -> Response:
        """Create a rule. The next sessions of the agents it applies to carry it. People only."""
        authorize(self.actor, Act.RULE_ADD, self.actor.tenant_id, agent_id=ANYWHERE)
        sent = AddRuleBody.read(request, self.actor)
        named = sent.values.get("agent_key")
        agent_id = None if named is None else agent_id_named(named, self.actor)
        rule = add_rule(agent_id, actor=self.actor, **sent.only(*RULE_FIELDS))
        return self.answer(rule.pk, sent.ignored, 201)

    @extend_schema(request=UpdateRuleBody, responses=StandingRuleSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Reword a rule, move it, retire it or reactivate it."""
        rule = self.get_object()
        sent = UpdateRuleBody.read(request, self.actor, rule)
        change_rule(rule, sent, actor=self.actor)
        return self.answer(rule.pk, sent.ignored)

    @extend_schema(request=UpdateRuleBody, responses=StandingRuleSerializer)
    def update(self, request: Request, pk: str) -> Response:
        """Replace the rule: send its text."""
        return self.partial_update(request, pk)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Retire the rule. Later sessions do not carry it, and its history stays."""
        retire_rule(self.get_object(), actor=self.actor)
        return Response(status=204)


def change_rule(rule: StandingRule, sent: ParsedBody, *, actor: Actor) -> None:
    """Apply every change in a body in one transaction, based on the version that the sender read."""
    refuse_stale(rule, sent.read_at)
    reason, worded = sent.reason, sent.only(*RULE_FIELDS)
    if worded:
        amend_rule(rule, actor=actor, values=worded, read_at=sent.read_at, reason=reason)
    status = sent.values.get("status", rule.status)
    if status != rule.status:
        act = retire_rule if status == StandingRule.Status.RETIRED else restore_rule
        act(rule, actor=actor, read_at=None if worded else sent.read_at, reason=reason)
