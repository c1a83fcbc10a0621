"""Members: the people of the tenant, their roles and state, and how they join and leave."""

from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from apps.console.framework.actor_names import actor_label, people_of_tenant
from apps.console.framework.forms import OptionalReasonForm
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import column
from apps.console.framework.page_actions import Button, CreateAction, PanelReader
from apps.console.framework.request_context import actor_of, people_of
from apps.console.tenants.grants import ChangeRoleForm, InvitationForm
from apps.governance.actors import Actor, Role
from apps.governance.governed_write import may
from apps.governance.policy.policy_table import Act
from apps.tenants.accounts.invitations import INVITATION_SECONDS, invitation_url, invite
from apps.tenants.accounts.people import deactivate_and_sign_out, reset_sign_in
from apps.tenants.actions import change_role, reactivate_member
from apps.tenants.models import Membership
from apps.tenants.models.grants import MemberLimit


@dataclass(frozen=True, slots=True)
class MemberLink:
    """A member with the link that is shown once; it is empty for a person with a proven address."""

    row: Membership
    name: str
    link: str
    days: int = INVITATION_SECONDS // 86_400

    @property
    def pk(self) -> int:
        """The id of the membership."""
        return int(self.row.pk)


def member_panels(member: Any, request: HttpRequest) -> dict[str, Any]:
    """Return the member's limits, name and state."""
    actor = actor_of(request)
    limits = MemberLimit.objects.visible_to(actor).filter(member=member)
    name = people_of(request)[actor_label(member.user_id)]
    may_confine = may(actor, Act.LIMIT_WRITE)
    return {"limits": limits, "name": name, "standing": member_state(member), "may_confine": may_confine}


def member_state(member: Any) -> str:
    """Return the state in words: deactivated, waiting for the link to be used, or active."""
    if not member.is_active:
        return "deactivated"
    return "waits for its link" if _is_invited(member) else "active"


def _invite(*, actor: Actor, email: str, role: str) -> MemberLink:
    invited = invite(email, Role(role), actor=actor)
    return MemberLink(invited.row, email, invitation_url(invited.row))


def _reset(member: Membership, *, actor: Actor, reason: str, read_at: int) -> MemberLink:
    reset_sign_in(member, actor=actor, read_at=read_at, reason=reason)
    return MemberLink(member, people_of_tenant(actor)[actor_label(member.user_id)], invitation_url(member))


def _is_active(member: Membership) -> bool:
    return member.is_active


def _has_joined(member: Any) -> bool:
    return member.is_active and not member.is_pending


def _is_invited(member: Any) -> bool:
    return bool(member.is_pending)


def _is_inactive(member: Membership) -> bool:
    return not member.is_active


class MemberAdmin(GovernedAdmin):
    """The people of the tenant: every member reads the list, admins change it."""

    list_display = ("person", "role", "standing", "second_factor", "updated")
    list_filter = ("role", "is_active")
    search_fields = ("user__username", "user__email")
    search_help_text = "Search mail address"
    empty = "Nobody of that kind."
    saved = "Invited. The invitation is in the history of changes."
    form = InvitationForm
    add_fields = ("email", "role")
    fields = ()
    change_form_template = "console/tenants/member.html"
    creates = CreateAction(Act.MEMBER_INVITE, _invite, add_fields, answer_template="console/tenants/member_link.html")
    panels = PanelReader(member_panels)
    buttons = (
        Button(
            "role",
            "Change role",
            Act.MEMBER_CHANGE_ROLE,
            change_role,
            done="Changed. It applies from their next request on.",
            consequence="Admins decide about members, agents, tokens and settings; operators about what agents go by.",
            form=ChangeRoleForm,
            when=_is_active,
        ),
        Button(
            "reset",
            "Reset",
            Act.MEMBER_RESET,
            _reset,
            done="",
            consequence="Their password, their second factor and every session end now. You get a link for them that works once.",
            form=OptionalReasonForm,
            when=_has_joined,
            answer_template="console/tenants/member_link.html",
        ),
        Button(
            "link",
            "New link",
            Act.MEMBER_RESET,
            _reset,
            done="",
            consequence="The link they were given ends now. You get another one that works once.",
            form=OptionalReasonForm,
            when=_is_invited,
            answer_template="console/tenants/member_link.html",
        ),
        Button(
            "deactivate",
            "Deactivate",
            Act.MEMBER_DEACTIVATE,
            deactivate_and_sign_out,
            done="Deactivated. From their next request on they have no access here.",
            consequence="From their next request on they are nobody here. What they did stays in the books.",
            form=OptionalReasonForm,
            when=_is_active,
            tone="danger",
        ),
        Button(
            "reactivate",
            "Reactivate",
            Act.MEMBER_REACTIVATE,
            reactivate_member,
            done="Reactivated, with the role and limits they had.",
            consequence="They may sign in again, with the role and limits they had.",
            when=_is_inactive,
        ),
    )

    person = column("Person", lambda row: row.people[actor_label(row.user_id)], ordering="user__username")
    standing = column("State", member_state, ordering="is_active")

    @admin.display(description="Second factor")
    def second_factor(self, member: Any) -> str:
        return "yes" if member.has_second_factor else "none"
