"""Limits of members: acts that a member may do for some agents only. Admins decide on them."""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import IntegerField, ListField

from apps.api.bodies import Body, Number, Text
from apps.api.filters import CharFilter, FilterSet, IdFilter, SearchFilter
from apps.api.rows import STAMPS, Shown
from apps.api.versions import Versioned
from apps.governance.governed_write import authorize
from apps.governance.policy.table import Act
from apps.tenants.actions import limit_member, unlimit_member
from apps.tenants.models import Membership
from apps.tenants.models.grants import MemberLimit

# More than there are.
MOST_AGENTS = 1000
AGENTS = "Ids of agents. None: nowhere at all. Agents made later are not among them until they are named."


class LimitRow(Shown[MemberLimit]):
    """For which agents a member may do an act."""

    member_id = IntegerField(read_only=True)
    agent_ids = ListField(child=IntegerField(), read_only=True)

    class Meta:
        model = MemberLimit
        fields = ("id", "member_id", "limited_act", "agent_ids", *STAMPS, "ignored_fields")
        read_only_fields = fields


class NewLimit(Body):
    """Who, in which act, and for which agents it remains."""

    acts = (Act.LIMIT_WRITE,)
    shown = frozenset(LimitRow.Meta.fields)

    member_id = Number(help_text="As `members/` lists them.")
    limited_act = Text(help_text="An act that operators have, such as `skill.approve`.")
    agent_ids = ListField(child=Number(), max_length=MOST_AGENTS, help_text=AGENTS)


class LimitChange(Body):
    """For which agents from now on."""

    acts = (Act.LIMIT_WRITE,)
    shown = frozenset(LimitRow.Meta.fields)
    whole = ("agent_ids",)

    agent_ids = ListField(child=Number(), max_length=MOST_AGENTS, required=False, help_text=AGENTS)
    version = Number(required=False, help_text="The version of the limit that was read.")


class LimitFilters(FilterSet):
    """By member and act."""

    member_id = IdFilter()
    limited_act = CharFilter()
    search = SearchFilter("member__user__username", "limited_act")


class LimitView(Versioned[MemberLimit]):
    """Limits of the tenant's members; they narrow what a role may and never widen it."""

    acts: ClassVar = {
        "create": (Act.LIMIT_WRITE,),
        "partial_update": (Act.LIMIT_WRITE,),
        "destroy": (Act.LIMIT_LIFT,),
    }
    queryset = MemberLimit.objects.none()
    serializer_class = LimitRow
    filterset_class = LimitFilters
    for_people = True

    def get_queryset(self) -> QuerySet[MemberLimit]:
        """Those of the tenant."""
        return MemberLimit.objects.visible_to(self.actor)

    @extend_schema(request=NewLimit, responses={201: LimitRow})
    def create(self, request: Request) -> Response:
        """Confine an act of a member to some agents, from their next request on."""
        authorize(self.actor, Act.LIMIT_WRITE, self.actor.tenant_id)
        sent = NewLimit.read(request, self.actor)
        member = Membership.objects.visible_to(self.actor).filter(pk=sent.values["member_id"]).first()
        if member is None:
            raise ValidationError({"member_id": ["There is no member with this id."]})
        fresh = MemberLimit(tenant_id=self.actor.tenant_id, member=member, limited_act=sent.values["limited_act"])
        limit = limit_member(fresh, actor=self.actor, agents=sent.values["agent_ids"])
        return self.answer(limit.pk, sent.ignored, 201)

    @extend_schema(request=LimitChange, responses=LimitRow)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Choose the agents anew: where none of them is named any more, the member may not."""
        del pk
        limit = self.get_object()
        authorize(self.actor, Act.LIMIT_WRITE, limit.tenant_id)
        sent = LimitChange.read(request, self.actor, limit)
        limit_member(limit, actor=self.actor, agents=sent.values["agent_ids"], read_at=sent.read_at)
        return self.answer(limit.pk, sent.ignored)

    @extend_schema(request=LimitChange, responses=LimitRow)
    def update(self, request: Request, pk: str) -> Response:
        """The same; nothing else of a limit is changed."""
        return self.partial_update(request, pk)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Let the member do the act wherever their role may."""
        del request, pk
        unlimit_member(self.get_object(), actor=self.actor)
        return Response(status=204)
