"""Members of the tenant: people read who they are; admins let them in, decide on them, and reset them."""

from typing import ClassVar

from django.db.models import F, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, ChoiceField, EmailField

from apps.api.framework.one_time_secrets import Once, ToldOnce
from apps.api.framework.row_actions import deciding
from apps.api.protocol.filters import BooleanFilter, ChoiceFilter, FilterSet, SearchFilter
from apps.api.protocol.request_bodies import AsRead, Body, Decision, Number, Text
from apps.api.protocol.serializers import STAMPS, Shown
from apps.governance.actors import Role
from apps.governance.governed_write import authorize
from apps.governance.policy.table import Act
from apps.tenants.accounts.invitations import invitation_to, invite
from apps.tenants.accounts.people import dismiss, reset
from apps.tenants.actions import change_role, reactivate_member
from apps.tenants.models import Membership
from apps.tenants.models.people import ROLES


class MemberRow(Shown[Membership]):
    """Who belongs to the tenant, as what."""

    username = CharField(read_only=True)
    is_pending = BooleanField(read_only=True, help_text="True until they used the link they were given.")
    has_second_factor = BooleanField(read_only=True, help_text="Whether a code is asked for beside their password.")

    class Meta:
        model = Membership
        fields: tuple[str, ...] = (
            *("id", "username", "role", "is_active", "is_pending", "has_second_factor"),
            *(*STAMPS, "ignored_fields"),
        )
        read_only_fields = fields


class WelcomeRow(MemberRow):
    """A member in the answer that holds their link."""

    link = Once(
        help_text="By it they come in, once and within three days; empty for whoever is known to own the address."
        " In this answer alone: sent again under its key, the answer has none."
    )

    class Meta(MemberRow.Meta):
        fields = (*MemberRow.Meta.fields, "link")
        read_only_fields = fields


class NewMember(Body):
    """Whom to let in, and as what."""

    acts = (Act.MEMBER_INVITE,)
    shown = frozenset(MemberRow.Meta.fields)

    email = EmailField(max_length=150, help_text="They sign in by it.")
    role = ChoiceField(ROLES)


class RoleChange(Body):
    """What they become."""

    acts = (Act.MEMBER_CHANGE_ROLE,)
    shown = frozenset(MemberRow.Meta.fields)
    whole = ("role",)

    role = ChoiceField(ROLES, required=False)
    version = Number(required=False, help_text="The member's version that was read.")
    reason = Text(required=False)


class MemberFilters(FilterSet):
    """By role and state."""

    role = ChoiceFilter(choices=ROLES)
    is_active = BooleanFilter()
    search = SearchFilter("user__username", "user__email")


class MemberView(ToldOnce[Membership]):
    """Members of the tenant; admins decide on them, and nobody on themselves."""

    acts: ClassVar = {
        "create": (Act.MEMBER_INVITE,),
        "partial_update": (Act.MEMBER_CHANGE_ROLE,),
        "reset": (Act.MEMBER_RESET,),
        "deactivate": (Act.MEMBER_DEACTIVATE,),
        "reactivate": (Act.MEMBER_REACTIVATE,),
    }
    queryset = Membership.objects.none()
    serializer_class = MemberRow
    filterset_class = MemberFilters
    for_people = True

    def get_queryset(self) -> QuerySet[Membership]:
        """With the person's name."""
        return Membership.objects.visible_to(self.actor).annotate(username=F("user__username"))

    @extend_schema(request=NewMember, responses={201: WelcomeRow})
    def create(self, request: Request) -> Response:
        """Let a person in by mail address. No mail is sent: give them `link`, which is in this answer and in no other."""
        authorize(self.actor, Act.MEMBER_INVITE, self.actor.tenant_id)
        sent = NewMember.read(request, self.actor)
        invited = invite(sent.values["email"], Role(sent.values["role"]), actor=self.actor)
        return self.tell_once(WelcomeRow, invited.row.pk, sent.ignored, link=invitation_to(invited.row))

    @extend_schema(request=RoleChange, responses=MemberRow)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Make a member operator or admin, from their next request on."""
        del pk
        member = self.get_object()
        authorize(self.actor, Act.MEMBER_CHANGE_ROLE, member.tenant_id)
        sent = RoleChange.read(request, self.actor, member)
        role = Role(sent.values["role"])
        change_role(member, actor=self.actor, role=role, read_at=sent.read_at, reason=sent.reason)
        return self.answer(member.pk, sent.ignored)

    @extend_schema(request=RoleChange, responses=MemberRow)
    def update(self, request: Request, pk: str) -> Response:
        """The same; a member has nothing but a role."""
        return self.partial_update(request, pk)

    @extend_schema(request=Decision, responses=WelcomeRow)
    @action(detail=True, methods=["post"])
    def reset(self, request: Request, pk: str) -> Response:
        """End their password, second factor and sessions; whoever has not come in yet only gets another `link`."""
        del pk
        member = self.get_object()
        authorize(self.actor, Act.MEMBER_RESET, member.tenant_id)
        sent = Decision.read(request, self.actor, member)
        reset(member, actor=self.actor, read_at=sent.read_at, reason=sent.reason)
        return self.tell_once(WelcomeRow, member.pk, sent.ignored, 200, link=invitation_to(member))

    deactivate = deciding(
        "deactivate",
        Act.MEMBER_DEACTIVATE,
        dismiss,
        MemberRow,
        "From their next request on they are nobody here; what they did stays in the books.",
    )
    reactivate = deciding(
        "reactivate",
        Act.MEMBER_REACTIVATE,
        reactivate_member,
        MemberRow,
        "Let them in again, with the role and limits they had.",
        AsRead,
    )
