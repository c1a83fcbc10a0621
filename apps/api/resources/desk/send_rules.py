"""Send rules: the send mode of an agent's replies on a channel, or after it has read a skill (R134). People only."""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import ChoiceField, IntegerField

from apps.api.framework.base_views import RowViewSet
from apps.api.protocol.filters import AgentFilters, ChoiceFilter
from apps.api.protocol.request_bodies import RequestBody, StrictIntegerField, StrictTextField
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer, agent_key
from apps.api.resources.agents.agents import agent_id_named
from apps.desk.actions import lift_send_rule, write_send_rule
from apps.desk.models import SendRule
from apps.governance.actors import ANYWHERE
from apps.governance.governed_write import authorize
from apps.governance.policy.policy_table import Act
from apps.skills.models import Skill
from apps.tenants.models import SEND_MODES


class SendRuleSerializer(RowSerializer[SendRule]):
    """A send mode, and the channel or skill it applies to."""

    agent_key = agent_key()
    skill_id = IntegerField(
        read_only=True, allow_null=True, help_text="Null: the rule applies whether or not a skill was read."
    )

    class Meta:
        model = SendRule
        fields = ("id", "agent_key", "channel", "skill_id", "send_mode", *STAMP_FIELDS, "ignored_fields")
        read_only_fields = fields


class CreateSendRuleBody(RequestBody):
    """Where the rule applies, and its send mode."""

    acts = (Act.SEND_RULE_WRITE,)
    shown = frozenset(SendRuleSerializer.Meta.fields)

    agent_key = StrictTextField()
    channel = StrictTextField(required=False, help_text="Empty: every channel; then name a skill.")
    skill_id = StrictIntegerField(required=False, allow_null=True, help_text="Null: every reply; then name a channel.")
    send_mode = ChoiceField(SEND_MODES)
    reason = StrictTextField(required=False)


class UpdateSendRuleBody(RequestBody):
    """The send mode from now on. Where the rule applies cannot be changed."""

    acts = (Act.SEND_RULE_WRITE,)
    shown = frozenset(SendRuleSerializer.Meta.fields)
    whole = ("send_mode",)

    send_mode = ChoiceField(SEND_MODES, required=False)
    version = StrictIntegerField(required=False, help_text="The rule's version that was read.")
    reason = StrictTextField(required=False)


class SendRuleFilters(AgentFilters):
    """Filter by agent and mode."""

    send_mode = ChoiceFilter(choices=SEND_MODES)


class SendRuleView(RowViewSet[SendRule]):
    """Send rules of the tenant."""

    acts: ClassVar = {
        "create": (Act.SEND_RULE_WRITE,),
        "partial_update": (Act.SEND_RULE_WRITE,),
        "destroy": (Act.SEND_RULE_LIFT,),
    }
    queryset = SendRule.objects.none()
    serializer_class = SendRuleSerializer
    filterset_class = SendRuleFilters
    for_people = True

    def get_queryset(self) -> QuerySet[SendRule]:
        """Return the rows of the tenant."""
        return SendRule.objects.visible_to(self.actor).select_related("agent")

    @extend_schema(request=CreateSendRuleBody, responses={201: SendRuleSerializer})
    def create(self, request: Request) -> Response:
        """Set the send mode for a channel, or after a skill. It applies to turns that have not ended."""
        authorize(self.actor, Act.SEND_RULE_WRITE, self.actor.tenant_id, agent_id=ANYWHERE)
        sent = CreateSendRuleBody.read(request, self.actor)
        rule = SendRule(tenant_id=self.actor.tenant_id, agent_id=agent_id_named(sent.values["agent_key"], self.actor))
        values = {**sent.only("channel", "send_mode"), "skill": self._find_skill(sent.values.get("skill_id"))}
        write_send_rule(rule, actor=self.actor, values=values, reason=sent.reason)
        return self.answer(rule.pk, sent.ignored, 201)

    @extend_schema(request=UpdateSendRuleBody, responses=SendRuleSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change the send mode of the rule."""
        rule = self.get_object()
        sent = UpdateSendRuleBody.read(request, self.actor, rule)
        values, reason = sent.only("send_mode"), sent.reason
        write_send_rule(rule, actor=self.actor, values=values, read_at=sent.read_at, reason=reason)
        return self.answer(rule.pk, sent.ignored)

    @extend_schema(request=UpdateSendRuleBody, responses=SendRuleSerializer)
    def update(self, request: Request, pk: str) -> Response:
        """Same as PATCH: no other field of a rule can be written."""
        return self.partial_update(request, pk)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Remove the rule: the agent's own send mode applies there again."""
        lift_send_rule(self.get_object(), actor=self.actor)
        return Response(status=204)

    def _find_skill(self, skill_id: int | None) -> Skill | None:
        if skill_id is None:
            return None
        skill = Skill.objects.visible_to(self.actor).filter(pk=skill_id).first()
        if skill is None:
            raise ValidationError({"skill_id": ["There is no such skill."]})
        return skill
