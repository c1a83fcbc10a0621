"""REST resources for agent grants (per role and agent) and member limits (per member and act). Admins decide on both.

An agent grant replaces, for the rows of one agent, the grants that the role has in the tenant. A member limit confines a member
to some agents for one act.
"""

from typing import ClassVar, Final

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import IntegerField, ListField

from apps.api.framework.versions import VersionedViewSet
from apps.api.protocol.filters import AgentFilters, CharFilter, ChoiceFilter, FilterSet, IdFilter, SearchFilter
from apps.api.protocol.request_bodies import RequestBody, StrictIntegerField, StrictTextField
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer, agent_key
from apps.api.resources.agents.agents import agent_id_named
from apps.governance.actors import ANYWHERE
from apps.governance.governed_write import authorize
from apps.governance.policy.policy_table import Act
from apps.tenants.actions import limit_member, unlimit_member, withdraw_grants, write_grants
from apps.tenants.models import Membership
from apps.tenants.models.grants import AgentGrants, MemberLimit

# More permissions than exist.
MAX_PERMISSIONS: Final = 1000
PERMISSIONS_HELP: Final = (
    "Names such as `skill_fetch`. Everything else is withheld from the role there. The role floor still applies."
)


class AgentGrantsSerializer(RowSerializer[AgentGrants]):
    """The permissions of a role on the rows of one agent."""

    agent_key = agent_key()
    permissions = ListField(child=StrictTextField(), read_only=True)

    class Meta:
        model = AgentGrants
        fields = ("id", "agent_key", "role", "permissions", *STAMP_FIELDS, "ignored_fields")
        read_only_fields = fields


class CreateAgentGrantsBody(RequestBody):
    """The agent, the role, and its permissions."""

    acts = (Act.GRANT_WRITE,)
    shown = frozenset(AgentGrantsSerializer.Meta.fields)

    agent_key = StrictTextField()
    role = StrictTextField(help_text="`operator` or `agent`. Admins have all permissions.")
    permissions = ListField(child=StrictTextField(), max_length=MAX_PERMISSIONS, help_text=PERMISSIONS_HELP)


class UpdateAgentGrantsBody(RequestBody):
    """New permissions, which replace the former ones."""

    acts = (Act.GRANT_WRITE,)
    shown = frozenset(AgentGrantsSerializer.Meta.fields)
    whole = ("permissions",)

    permissions = ListField(
        child=StrictTextField(), max_length=MAX_PERMISSIONS, required=False, help_text=PERMISSIONS_HELP
    )
    version = StrictIntegerField(required=False, help_text="The version of the grants that was read.")


class AgentGrantsFilters(AgentFilters):
    """Filter by agent and role."""

    role = ChoiceFilter(choices=[("operator", "Operators"), ("agent", "The agent itself")])
    search = SearchFilter("agent__key")


class AgentGrantsView(VersionedViewSet[AgentGrants]):
    """Grants on the tenant's agents; admins change them."""

    acts: ClassVar = {
        "create": (Act.GRANT_WRITE,),
        "partial_update": (Act.GRANT_WRITE,),
        "destroy": (Act.GRANT_WITHDRAW,),
    }
    queryset = AgentGrants.objects.none()
    serializer_class = AgentGrantsSerializer
    filterset_class = AgentGrantsFilters
    for_people = True

    def get_queryset(self) -> QuerySet[AgentGrants]:
        """Return the rows of the tenant."""
        return AgentGrants.objects.visible_to(self.actor).select_related("agent")

    @extend_schema(request=CreateAgentGrantsBody, responses={201: AgentGrantsSerializer})
    def create(self, request: Request) -> Response:
        """Set the permissions of a role on one agent's rows, from the next request on.

        They replace the role's grants in the tenant.
        """
        authorize(self.actor, Act.GRANT_WRITE, self.actor.tenant_id, agent_id=ANYWHERE)
        sent = CreateAgentGrantsBody.read(request, self.actor)
        agent_id = agent_id_named(sent.values["agent_key"], self.actor)
        fresh = AgentGrants(tenant_id=self.actor.tenant_id, agent_id=agent_id, role=sent.values["role"])
        grants = write_grants(fresh, actor=self.actor, granted=sent.values["permissions"])
        return self.answer(grants.pk, sent.ignored, 201)

    @extend_schema(request=UpdateAgentGrantsBody, responses=AgentGrantsSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change the grants. Permissions that are left out are withdrawn."""
        grants = self.get_object()
        sent = UpdateAgentGrantsBody.read(request, self.actor, grants)
        granted = sent.values.get("permissions", grants.permissions)
        write_grants(grants, actor=self.actor, granted=granted, read_at=sent.read_at)
        return self.answer(grants.pk, sent.ignored)

    @extend_schema(request=UpdateAgentGrantsBody, responses=AgentGrantsSerializer)
    def update(self, request: Request, pk: str) -> Response:
        """Replace the row: send every field."""
        return self.partial_update(request, pk)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Remove the grants: the role has the same permissions on this agent's rows as elsewhere."""
        withdraw_grants(self.get_object(), actor=self.actor)
        return Response(status=204)


# More agents than exist.
MAX_AGENTS = 1000
AGENT_IDS_HELP = (
    "Ids of agents. Empty: no agent at all. Agents that are created later are not included until they are added."
)


class MemberLimitSerializer(RowSerializer[MemberLimit]):
    """A limit of a member's act to some agents."""

    member_id = IntegerField(read_only=True)
    agent_ids = ListField(child=IntegerField(), read_only=True)

    class Meta:
        model = MemberLimit
        fields = ("id", "member_id", "limited_act", "agent_ids", *STAMP_FIELDS, "ignored_fields")
        read_only_fields = fields


class CreateMemberLimitBody(RequestBody):
    """The member, the act, and the agents."""

    acts = (Act.LIMIT_WRITE,)
    shown = frozenset(MemberLimitSerializer.Meta.fields)

    member_id = StrictIntegerField(help_text="Id of a member, from `members/`.")
    limited_act = StrictTextField(help_text="An act that operators have, such as `skill.approve`.")
    agent_ids = ListField(child=StrictIntegerField(), max_length=MAX_AGENTS, help_text=AGENT_IDS_HELP)


class UpdateMemberLimitBody(RequestBody):
    """The new agents."""

    acts = (Act.LIMIT_WRITE,)
    shown = frozenset(MemberLimitSerializer.Meta.fields)
    whole = ("agent_ids",)

    agent_ids = ListField(child=StrictIntegerField(), max_length=MAX_AGENTS, required=False, help_text=AGENT_IDS_HELP)
    version = StrictIntegerField(required=False, help_text="The version of the limit that was read.")


class MemberLimitFilters(FilterSet):
    """Filter by member and act."""

    member_id = IdFilter()
    limited_act = CharFilter()
    search = SearchFilter("member__user__username", "limited_act")


class MemberLimitView(VersionedViewSet[MemberLimit]):
    """Limits of the tenant's members. They narrow a role and never widen it."""

    acts: ClassVar = {
        "create": (Act.LIMIT_WRITE,),
        "partial_update": (Act.LIMIT_WRITE,),
        "destroy": (Act.LIMIT_LIFT,),
    }
    queryset = MemberLimit.objects.none()
    serializer_class = MemberLimitSerializer
    filterset_class = MemberLimitFilters
    for_people = True

    def get_queryset(self) -> QuerySet[MemberLimit]:
        """Return the rows of the tenant."""
        return MemberLimit.objects.visible_to(self.actor)

    @extend_schema(request=CreateMemberLimitBody, responses={201: MemberLimitSerializer})
    def create(self, request: Request) -> Response:
        """Limit an act of a member to some agents, from their next request on."""
        authorize(self.actor, Act.LIMIT_WRITE, self.actor.tenant_id)
        sent = CreateMemberLimitBody.read(request, self.actor)
        member = Membership.objects.visible_to(self.actor).filter(pk=sent.values["member_id"]).first()
        if member is None:
            raise ValidationError({"member_id": ["There is no member with this id."]})
        fresh = MemberLimit(tenant_id=self.actor.tenant_id, member=member, limited_act=sent.values["limited_act"])
        limit = limit_member(fresh, actor=self.actor, agents=sent.values["agent_ids"])
        return self.answer(limit.pk, sent.ignored, 201)

    @extend_schema(request=UpdateMemberLimitBody, responses=MemberLimitSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change the agents. With an empty list the member may do the act nowhere."""
        limit = self.get_object()
        authorize(self.actor, Act.LIMIT_WRITE, limit.tenant_id)
        sent = UpdateMemberLimitBody.read(request, self.actor, limit)
        limit_member(limit, actor=self.actor, agents=sent.values["agent_ids"], read_at=sent.read_at)
        return self.answer(limit.pk, sent.ignored)

    @extend_schema(request=UpdateMemberLimitBody, responses=MemberLimitSerializer)
    def update(self, request: Request, pk: str) -> Response:
        """Same as PATCH: no other field of a limit can be written."""
        return self.partial_update(request, pk)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Remove the limit: the member may do the act wherever their role may."""
        unlimit_member(self.get_object(), actor=self.actor)
        return Response(status=204)
