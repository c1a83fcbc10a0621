"""Members of the tenant. People list them; admins invite them, change their roles, deactivate them and reset their sign-in."""

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
    """A member of the tenant, and the role."""

    username = CharField(read_only=True)
    is_pending = BooleanField(read_only=True, help_text="True until the person has used their invitation link.")
    has_second_factor = BooleanField(read_only=True, help_text="Whether sign-in asks for a code besides the password.")

    class Meta:
        model = Membership
        fields: tuple[str, ...] = (
            *("id", "username", "role", "is_active", "is_pending", "has_second_factor"),
            *(*STAMP_FIELDS, "ignored_fields"),
        )
        read_only_fields = fields


class InvitedMemberSerializer(MemberSerializer):
    """A member with an invitation link, in the response that creates it."""

    link = SecretOnceField(
        help_text="Invitation link, valid once within three days. Empty if the person is known to own the address."
        " Returned only once: a repeated request gets a response without it."
    )

    class Meta(MemberSerializer.Meta):
        fields = (*MemberSerializer.Meta.fields, "link")
        read_only_fields = fields


class InviteMemberBody(RequestBody):
    """The e-mail address and the role."""

    acts = (Act.MEMBER_INVITE,)
    shown = frozenset(MemberSerializer.Meta.fields)

    email = EmailField(max_length=150, help_text="The person signs in with it.")
    role = ChoiceField(ROLES)


class ChangeRoleBody(RequestBody):
    """The new role."""

    acts = (Act.MEMBER_CHANGE_ROLE,)
    shown = frozenset(MemberSerializer.Meta.fields)
    whole = ("role",)

    role = ChoiceField(ROLES, required=False)
    version = StrictIntegerField(required=False, help_text="The member's version that was read.")
    reason = StrictTextField(required=False)


class MemberFilters(FilterSet):
    """Filter by role and state."""

    role = ChoiceFilter(choices=ROLES)
    is_active = BooleanFilter()
    search = SearchFilter("user__username", "user__email")


class MemberView(SecretOnceViewSet[Membership]):
    """Members of the tenant. Admins change them, but never themselves."""

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
        """Return the members with their names."""
        return Membership.objects.visible_to(self.actor).annotate(username=F("user__username"))

    @extend_schema(request=InviteMemberBody, responses={201: InvitedMemberSerializer})
    def create(self, request: Request) -> Response:
        """Invite a person by e-mail address. No e-mail is sent: pass on `link`, which is returned only once."""
        authorize(self.actor, Act.MEMBER_INVITE, self.actor.tenant_id)
        sent = InviteMemberBody.read(request, self.actor)
        invited = invite(sent.values["email"], Role(sent.values["role"]), actor=self.actor)
        return self.tell_once(InvitedMemberSerializer, invited.row.pk, sent.ignored, link=invitation_url(invited.row))

    @extend_schema(request=ChangeRoleBody, responses=MemberSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change a member's role, from their next request on."""
        member = self.get_object()
        authorize(self.actor, Act.MEMBER_CHANGE_ROLE, member.tenant_id)
        sent = ChangeRoleBody.read(request, self.actor, member)
        role = Role(sent.values["role"])
        change_role(member, actor=self.actor, role=role, read_at=sent.read_at, reason=sent.reason)
        return self.answer(member.pk, sent.ignored)

    @extend_schema(request=ChangeRoleBody, responses=MemberSerializer)
    def update(self, request: Request, pk: str) -> Response:
        """Same as PATCH: a member has no other field than its role."""
        return self.partial_update(request, pk)

    @extend_schema(request=DecisionBody, responses=InvitedMemberSerializer)
    @action(detail=True, methods=["post"])
    def reset(self, request: Request, pk: str) -> Response:
        """Reset a member's password, second factor and sessions. A person who has not joined yet only gets a new `link`."""
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
        "Deactivate the member, from their next request on. Their acts stay in the audit log.",
    )
    reactivate = decision_action(
        "reactivate",
        Act.MEMBER_REACTIVATE,
        reactivate_member,
        MemberSerializer,
        "Reactivate the member, with their former role and limits.",
        OptionalVersionBody,
    )
