"""Members of the tenant: people read who they are; admins let them in, decide on them, and reset them."""

from typing import ClassVar

from django.db.models import F, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, ChoiceField, EmailField

from apps.api.framework.one_time_secrets import SecretOnceField, SecretOnceViewSet
from apps.api.framework.row_actions import decision_action
from apps.api.protocol.filters import BooleanFilter, ChoiceFilter, FilterSet, SearchFilter
from apps.api.protocol.request_bodies import (
    DecisionBody,
    OptionalVersionBody,
    RequestBody,
    StrictIntegerField,
    StrictTextField,
)
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer
from apps.governance.actors import Role
from apps.governance.governed_write import authorize
from apps.governance.policy.policy_table import Act
from apps.tenants.accounts.invitations import invitation_url, invite
from apps.tenants.accounts.people import deactivate_and_sign_out, reset_sign_in
from apps.tenants.actions import change_role, reactivate_member
from apps.tenants.models import Membership
from apps.tenants.models.people import ROLES


class MemberSerializer(RowSerializer[Membership]):
    """Who belongs to the tenant, as what."""

    username = CharField(read_only=True)
    is_pending = BooleanField(read_only=True, help_text="True until they used the link they were given.")
    has_second_factor = BooleanField(read_only=True, help_text="Whether a code is asked for beside their password.")

    class Meta:
        model = Membership
        fields: tuple[str, ...] = (
            *("id", "username", "role", "is_active", "is_pending", "has_second_factor"),
            *(*STAMP_FIELDS, "ignored_fields"),
        )
        read_only_fields = fields


class InvitedMemberSerializer(MemberSerializer):
    """A member in the answer that holds their link."""

    link = SecretOnceField(
        help_text="By it they come in, once and within three days; empty for whoever is known to own the address."
        " In this answer alone: sent again under its key, the answer has none."
    )

    class Meta(MemberSerializer.Meta):
        fields = (*MemberSerializer.Meta.fields, "link")
        read_only_fields = fields


class InviteMemberBody(RequestBody):
    """Whom to let in, and as what."""

    acts = (Act.MEMBER_INVITE,)
    shown = frozenset(MemberSerializer.Meta.fields)

    email = EmailField(max_length=150, help_text="They sign in by it.")
    role = ChoiceField(ROLES)


class ChangeRoleBody(RequestBody):
    """What they become."""

    acts = (Act.MEMBER_CHANGE_ROLE,)
    shown = frozenset(MemberSerializer.Meta.fields)
    whole = ("role",)

    role = ChoiceField(ROLES, required=False)
    version = StrictIntegerField(required=False, help_text="The member's version that was read.")
    reason = StrictTextField(required=False)


class MemberFilters(FilterSet):
    """By role and state."""

    role = ChoiceFilter(choices=ROLES)
    is_active = BooleanFilter()
    search = SearchFilter("user__username", "user__email")


class MemberView(SecretOnceViewSet[Membership]):
    """Members of the tenant; admins decide on them, and nobody on themselves."""

    acts: ClassVar = {
        "create": (Act.MEMBER_INVITE,),
        "partial_update": (Act.MEMBER_CHANGE_ROLE,),
        "reset": (Act.MEMBER_RESET,),
        "deactivate": (Act.MEMBER_DEACTIVATE,),
        "reactivate": (Act.MEMBER_REACTIVATE,),
    }
    queryset = Membership.objects.none()
    serializer_class = MemberSerializer
    filterset_class = MemberFilters
    for_people = True

    def get_queryset(self) -> QuerySet[Membership]:
        """With the person's name."""
        return Membership.objects.visible_to(self.actor).annotate(username=F("user__username"))

    @extend_schema(request=InviteMemberBody, responses={201: InvitedMemberSerializer})
    def create(self, request: Request) -> Response:
        """Let a person in by mail address. No mail is sent: give them `link`, which is in this answer and in no other."""
        authorize(self.actor, Act.MEMBER_INVITE, self.actor.tenant_id)
        sent = InviteMemberBody.read(request, self.actor)
        invited = invite(sent.values["email"], Role(sent.values["role"]), actor=self.actor)
        return self.tell_once(InvitedMemberSerializer, invited.row.pk, sent.ignored, link=invitation_url(invited.row))

    @extend_schema(request=ChangeRoleBody, responses=MemberSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Make a member operator or admin, from their next request on."""
        member = self.get_object()
        authorize(self.actor, Act.MEMBER_CHANGE_ROLE, member.tenant_id)
        sent = ChangeRoleBody.read(request, self.actor, member)
        role = Role(sent.values["role"])
        change_role(member, actor=self.actor, role=role, read_at=sent.read_at, reason=sent.reason)
        return self.answer(member.pk, sent.ignored)

    @extend_schema(request=ChangeRoleBody, responses=MemberSerializer)
    def update(self, request: Request, pk: str) -> Response:
        """The same; a member has nothing but a role."""
        return self.partial_update(request, pk)

    @extend_schema(request=DecisionBody, responses=InvitedMemberSerializer)
    @action(detail=True, methods=["post"])
    def reset(self, request: Request, pk: str) -> Response:
        """End their password, second factor and sessions; whoever has not come in yet only gets another `link`."""
        member = self.get_object()
        authorize(self.actor, Act.MEMBER_RESET, member.tenant_id)
        sent = DecisionBody.read(request, self.actor, member)
        reset_sign_in(member, actor=self.actor, read_at=sent.read_at, reason=sent.reason)
        return self.tell_once(InvitedMemberSerializer, member.pk, sent.ignored, 200, link=invitation_url(member))

    deactivate = decision_action(
        "deactivate",
        Act.MEMBER_DEACTIVATE,
        deactivate_and_sign_out,
        MemberSerializer,
        "From their next request on they are nobody here; what they did stays in the books.",
    )
    reactivate = decision_action(
        "reactivate",
        Act.MEMBER_REACTIVATE,
        reactivate_member,
        MemberSerializer,
        "Let them in again, with the role and limits they had.",
        OptionalVersionBody,
    )
