"""Grants on agents: what a role may do with the rows of one agent, in place of what it may do elsewhere."""

from typing import ClassVar, Final

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import ListField

from apps.api.agents import agent_id_named
from apps.api.bodies import Body, Number, Text
from apps.api.filters import AgentFilters, ChoiceFilter, SearchFilter
from apps.api.rows import STAMPS, Shown, agent_key
from apps.api.versions import Versioned
from apps.governance.actors import ANYWHERE
from apps.governance.governed_write import authorize
from apps.governance.policy.table import Act
from apps.tenants.actions import withdraw_grants, write_grants
from apps.tenants.models.grants import AgentGrants

# More than there are.
MOST_PERMISSIONS: Final = 1000
NAMES: Final = (
    "Names such as `skill_fetch`. What is not among them the role may not do there; the role floor caps them."
)


class GrantsRow(Shown[AgentGrants]):
    """What a role may do with the rows of one agent."""

    agent_key = agent_key()
    permissions = ListField(child=Text(), read_only=True)

    class Meta:
        model = AgentGrants
        fields = ("id", "agent_key", "role", "permissions", *STAMPS, "ignored_fields")
        read_only_fields = fields


class NewGrants(Body):
    """For which agent and role, and what."""

    acts = (Act.GRANT_WRITE,)
    shown = frozenset(GrantsRow.Meta.fields)

    agent_key = Text()
    role = Text(help_text="`operator` or `agent`. Admins have all.")
    permissions = ListField(child=Text(), max_length=MOST_PERMISSIONS, help_text=NAMES)


class GrantsChange(Body):
    """What from now on, in place of what was granted there."""

    acts = (Act.GRANT_WRITE,)
    shown = frozenset(GrantsRow.Meta.fields)
    whole = ("permissions",)

    permissions = ListField(child=Text(), max_length=MOST_PERMISSIONS, required=False, help_text=NAMES)
    version = Number(required=False, help_text="The version of the grants that was read.")


class GrantsFilters(AgentFilters):
    """By agent and role."""

    role = ChoiceFilter(choices=[("operator", "Operators"), ("agent", "The agent itself")])
    search = SearchFilter("agent__key")


class GrantsView(Versioned[AgentGrants]):
    """Grants on the tenant's agents; admins decide on them."""

    acts: ClassVar = {
        "create": (Act.GRANT_WRITE,),
        "partial_update": (Act.GRANT_WRITE,),
        "destroy": (Act.GRANT_WITHDRAW,),
    }
    queryset = AgentGrants.objects.none()
    serializer_class = GrantsRow
    filterset_class = GrantsFilters
    for_people = True

    def get_queryset(self) -> QuerySet[AgentGrants]:
        """Those of the tenant."""
        return AgentGrants.objects.visible_to(self.actor).select_related("agent")

    @extend_schema(request=NewGrants, responses={201: GrantsRow})
    def create(self, request: Request) -> Response:
        """Say what a role may do with one agent's rows, from the next request on. It replaces all it may do elsewhere."""
        authorize(self.actor, Act.GRANT_WRITE, self.actor.tenant_id, agent_id=ANYWHERE)
        sent = NewGrants.read(request, self.actor)
        agent_id = agent_id_named(sent.values["agent_key"], self.actor)
        fresh = AgentGrants(tenant_id=self.actor.tenant_id, agent_id=agent_id, role=sent.values["role"])
        grants = write_grants(fresh, actor=self.actor, granted=sent.values["permissions"])
        return self.answer(grants.pk, sent.ignored, 201)

    @extend_schema(request=GrantsChange, responses=GrantsRow)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Say it anew: what is not named is not granted any more."""
        del pk
        grants = self.get_object()
        sent = GrantsChange.read(request, self.actor, grants)
        granted = sent.values.get("permissions", grants.permissions)
        write_grants(grants, actor=self.actor, granted=granted, read_at=sent.read_at)
        return self.answer(grants.pk, sent.ignored)

    @extend_schema(request=GrantsChange, responses=GrantsRow)
    def update(self, request: Request, pk: str) -> Response:
        """The same, whole."""
        return self.partial_update(request, pk)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Let the role do with this agent's rows what it may do elsewhere."""
        del request, pk
        withdraw_grants(self.get_object(), actor=self.actor)
        return Response(status=204)
