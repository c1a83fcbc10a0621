"""Kill switches. For people; agents read in their refused writes which switch is active."""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import CharField, ChoiceField

from apps.api.framework.base_views import RowViewSet
from apps.api.protocol.filters import AgentFilters, ChoiceFilter
from apps.api.protocol.request_bodies import RequestBody, StrictBooleanField, StrictIntegerField, StrictTextField
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer
from apps.api.resources.agents.agents import agent_id_named
from apps.governance.actors import ANYWHERE
from apps.governance.governed_write import authorize
from apps.governance.policy.policy_table import Act
from apps.kill_switches.actions import activate_kill_switch, deactivate_kill_switch
from apps.kill_switches.models import KillSwitch


class KillSwitchSerializer(RowSerializer[KillSwitch]):
    """A switch: what it stops, for which agents, and why."""

    agent_key = CharField(source="agent.key", read_only=True, allow_null=True, help_text="Null: every agent.")
    description = CharField(source="sentence", read_only=True, help_text="The switch in one sentence.")

    class Meta:
        model = KillSwitch
        fields = (
            "id",
            "kind",
            "agent_key",
            "channel",
            "ends_sessions",
            "reason",
            "description",
            "status",
            "activated_by",
            "deactivated_by",
            "deactivated_at",
            *STAMP_FIELDS,
            "ignored_fields",
        )
        read_only_fields = fields


class ActivateKillSwitchBody(RequestBody):
    """What to stop, for which agent, and why."""

    acts = (Act.KILL_SWITCH_ACTIVATE,)
    about = frozenset[str]()
    shown = frozenset(KillSwitchSerializer.Meta.fields)

    kind = ChoiceField(KillSwitch.Kind.choices)
    agent_key = StrictTextField(required=False, allow_null=True, help_text="Left out or null: every agent.")
    channel = StrictTextField(required=False)
    ends_sessions = StrictBooleanField(
        required=False,
        help_text="True: the agents' open sessions end too, on every channel; their next turns freeze new prompts.",
    )
    reason = StrictTextField()


class DeactivateKillSwitchBody(RequestBody):
    """Why it is switched off."""

    about = frozenset[str]()

    version = StrictIntegerField(help_text="The switch's version that was read.")
    reason = StrictTextField(required=False)


class KillSwitchFilters(AgentFilters):
    """Filter by agent, kind and status."""

    kind = ChoiceFilter(choices=KillSwitch.Kind.choices)
    status = ChoiceFilter(choices=KillSwitch.Status.choices)


class KillSwitchView(RowViewSet[KillSwitch]):
    """Kill switches of the tenant. People only."""

    acts: ClassVar = {"create": (Act.KILL_SWITCH_ACTIVATE,), "deactivate": (Act.KILL_SWITCH_DEACTIVATE,)}
    queryset = KillSwitch.objects.none()
    serializer_class = KillSwitchSerializer
    filterset_class = KillSwitchFilters
    for_people = True

    def get_queryset(self) -> QuerySet[KillSwitch]:
        """Return the rows of the tenant."""
        return KillSwitch.objects.visible_to(self.actor).select_related("agent")

    @extend_schema(request=ActivateKillSwitchBody, responses={201: KillSwitchSerializer})
    def create(self, request: Request) -> Response:
        """Activate a switch. It takes effect before the next model call."""
        authorize(self.actor, Act.KILL_SWITCH_ACTIVATE, self.actor.tenant_id, agent_id=ANYWHERE)
        sent = ActivateKillSwitchBody.read(request, self.actor)
        named = sent.values.get("agent_key")
        switch = activate_kill_switch(
            KillSwitch.Kind(sent.values["kind"]),
            actor=self.actor,
            reason=sent.values["reason"],
            agent_id=None if named is None else agent_id_named(named, self.actor),
            channel=sent.values.get("channel", ""),
            ends_sessions=sent.values.get("ends_sessions", False),
        )
        return self.answer(switch.pk, sent.ignored, 201)

    @extend_schema(request=DeactivateKillSwitchBody, responses=KillSwitchSerializer)
    @action(detail=True, methods=["post"])
    def deactivate(self, request: Request, pk: str) -> Response:
        """Deactivate the switch."""
        switch = self.get_object()
        sent = DeactivateKillSwitchBody.read(request, self.actor)
        deactivate_kill_switch(switch, actor=self.actor, reason=sent.reason, read_at=sent.read_at)
        return self.answer(switch.pk, sent.ignored)
