"""Console admins and forms for permissions: invitations, role grants, agent grants, and member limits.

Form choices come from the tenant's agents and the acts of the policy.
"""

from collections.abc import Collection
from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from apps.console.framework.actor_names import actor_label, people_of_tenant
from apps.console.framework.forms import (
    DecisionForm,
    GovernedForm,
    OptionalReasonForm,
    ReasonedDecisionForm,
    VerbatimTextField,
)
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import column
from apps.console.framework.page_actions import Button, CreateAction, EditAction, PanelReader
from apps.console.framework.request_context import actor_of, people_of
from apps.console.framework.row_titles import grant_label
from apps.console.framework.row_urls import url_of_subject
from apps.governance.actors import Actor, Role
from apps.governance.policy.policy_table import POLICY, Act, codenames, default_grants
from apps.tenants.actions import (
    limit_member,
    unlimit_member,
    withdraw_grants,
    withdraw_role_grants,
    write_grants,
    write_role_grants,
)
from apps.tenants.grants.guardian_sync import tenant_wide_grants
from apps.tenants.models import Agent, Membership
from apps.tenants.models.grants import AgentGrants, MemberLimit, RoleGrants
from apps.tenants.models.people import ROLES


class InvitationForm(GovernedForm):
    """The address and the role of the person to invite."""

    email = forms.EmailField(
        label="Mail address",
        max_length=150,
        widget=UnfoldAdminTextInputWidget,
        help_text="They sign in by it, and come in by a link that works once.",
    )


class ChangeRoleForm(DecisionForm):
    """The new role of a member."""

    role = forms.TypedChoiceField(coerce=Role, choices=ROLES, widget=UnfoldAdminSelectWidget)


class LimitForm(GovernedForm):
    """The act of a member that is limited, and the agents for which it stays allowed."""

    limited_act = forms.ChoiceField(
        label="Act",
        choices=[(act.value, act.value) for act in Act if Role.OPERATOR in POLICY[act].allowed],
        widget=UnfoldAdminSelectWidget,
    )
    agent_ids = forms.TypedMultipleChoiceField(
        label="Only for these agents",
        coerce=int,
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text="None: nowhere at all. Agents made later are not among them until you tick them.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # A person who may only read has no fields here.
        if "agent_ids" in self.fields:
            agents: Any = self.fields["agent_ids"]
            agents.choices = [(agent.pk, str(agent)) for agent in Agent.objects.visible_to(self.actor)]
        if not self.instance._state.adding:
            self.fields.pop("limited_act", None)
        if "member" in self.fields:
            members: Any = self.fields["member"]
            names = people_of_tenant(self.actor)
            members.label_from_instance = lambda member: f"{names[actor_label(member.user_id)]} ({member.role})"


class GroupedCheckboxes(UnfoldAdminCheckboxSelectMultipleWidget):
    """Check boxes with a heading for each group of choices."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        """Render with the console's own template, which the renderer of forms cannot find."""
        return render_to_string("console/tenants/grant_checkboxes.html", self.get_context(name, value, attrs))


class GrantsForm(GovernedForm):
    """The grants of a role for an agent; the edit page offers every grant that the role can have."""

    permissions = forms.MultipleChoiceField(
        label="May",
        required=False,
        widget=GroupedCheckboxes,
        help_text="Untick what it may not do here. With a field unticked, the act goes on for the others.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance._state.adding:
            self.fields.pop("permissions", None)
        elif "permissions" in self.fields:
            granted: Any = self.fields["permissions"]
            granted.choices = grants_by_noun(default_grants(Role(self.instance.role)))


class RoleGrantsForm(GrantsForm):
    """The grants of a role in the tenant, and the reason for the change."""

    reason = VerbatimTextField(
        label="Why",
        max_length=2000,
        help_text="Kept in the history.",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
    )


def grants_by_noun(names: Collection[str]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return grants as choices under their nouns, in the order of the policy; the labels leave out the noun."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for act in Act:
        noun = act.noun.replace("_", " ")
        held = [(name, grant_label(name).removeprefix(f"{noun} ")) for name in codenames(act) if name in names]
        if held:
            groups.setdefault(noun, []).extend(held)
    return list(groups.items())


def limit_panels(limit: Any, request: HttpRequest) -> dict[str, Any]:
    """Return the agents by name."""
    allowed = Agent.objects.visible_to(actor_of(request)).filter(pk__in=limit.agent_ids)
    return {"allowed": allowed, "name": people_of(request)[actor_label(limit.member.user_id)]}


def grants_panels(grants: Any, request: HttpRequest) -> dict[str, Any]:
    """Return the grants that the role lacks here."""
    return {
        "withheld": [grant_label(name) for name in sorted(default_grants(Role(grants.role)) - set(grants.permissions))]
    }


def role_grants_panels(grants: Any, request: HttpRequest) -> dict[str, Any]:
    """Return the grants of the role's template, and those that this tenant withholds."""
    template = grants_by_noun(default_grants(Role(grants.role)))
    held = set(grants.permissions)
    return {
        "withheld": [grant_label(name) for name in grants.withheld],
        "template": [
            (
                noun,
                [words for name, words in names if name in held],
                [words for name, words in names if name not in held],
            )
            for noun, names in template
        ],
    }


def _create_role_grants(*, actor: Actor, role: str, reason: str, **_hidden: Any) -> RoleGrants:
    grants = RoleGrants(tenant_id=actor.tenant_id, role=role)
    usual = tenant_wide_grants(Role(role), actor.tenant_id)
    return write_role_grants(grants, actor=actor, granted=usual, reason=reason)


def _write_role_grants(
    grants: RoleGrants, *, actor: Actor, reason: str, read_at: int | None, permissions: Collection[str] | None = None
) -> RoleGrants:
    granted = grants.permissions if permissions is None else permissions
    return write_role_grants(grants, actor=actor, granted=granted, reason=reason, read_at=read_at)


def _role_list_url(grants: RoleGrants) -> str:
    return reverse("admin:tenants_rolegrants_changelist")


def _limit(*, actor: Actor, member: Membership, limited_act: str, agent_ids: Collection[int]) -> MemberLimit:
    limit = MemberLimit(tenant_id=actor.tenant_id, member=member, limited_act=limited_act)
    return limit_member(limit, actor=actor, agents=agent_ids)


def _amend_limit(
    limit: MemberLimit, *, actor: Actor, agent_ids: Collection[int], read_at: int | None, **_hidden: Any
) -> MemberLimit:
    return limit_member(limit, actor=actor, agents=agent_ids, read_at=read_at)


def _create_grants(*, actor: Actor, agent: Agent, role: str, **_hidden: Any) -> AgentGrants:
    grants = AgentGrants(tenant_id=actor.tenant_id, agent=agent, role=role)
    return write_grants(grants, actor=actor, granted=tenant_wide_grants(Role(role), actor.tenant_id))


def _write(grants: AgentGrants, *, actor: Actor, permissions: Collection[str], read_at: int | None) -> AgentGrants:
    return write_grants(grants, actor=actor, granted=permissions, read_at=read_at)


def _page_of_member(limit: MemberLimit) -> str:
    return url_of_subject("tenants.membership", limit.member_id)


def _page_of_agent(grants: AgentGrants) -> str:
    return url_of_subject("tenants.agent", grants.agent_id)


def _share_of_template(grants: RoleGrants | AgentGrants) -> str:
    return f"{len(grants.permissions)} of {len(default_grants(Role(grants.role)))}"


class LimitAdmin(GovernedAdmin):
    """One row for each act that a member may perform for some agents only."""

    list_display = ("person", "limited_act", "how_many", "updated")
    list_filter = ("limited_act",)
    list_select_related = ("member",)
    search_fields = ("member__user__username", "limited_act")
    search_help_text = "Search member or act"
    empty = "Nobody is confined: every operator may do what operators may, for every agent."
    form = LimitForm
    add_fields = ("member", "limited_act", "agent_ids")
    fields = ("agent_ids",)
    change_form_template = "console/tenants/member_limit.html"
    edit_label = "Choose the agents anew"
    saved = "Saved. It applies from the member's next request on."
    creates = CreateAction(Act.LIMIT_WRITE, _limit, add_fields)
    amends = (EditAction(Act.LIMIT_WRITE, _amend_limit),)
    panels = PanelReader(limit_panels)
    buttons = (
        Button(
            "lift",
            "Lift the limit",
            Act.LIMIT_LIFT,
            unlimit_member,
            done="Lifted. The member may perform the act wherever their role may.",
            consequence="From the next request on the member may do this wherever their role may.",
            form=OptionalReasonForm,
            leads_to=_page_of_member,
        ),
    )

    person = column(
        "Member", lambda row: row.people[actor_label(row.member.user_id)], ordering="member__user__username"
    )

    @admin.display(description="Agents")
    def how_many(self, limit: MemberLimit) -> str:
        return f"{len(limit.agent_ids)}" if limit.agent_ids else "nowhere"


class RoleGrantsAdmin(GovernedAdmin):
    """One row for each role whose grants differ from the template in this tenant."""

    list_display = ("role", "how_many", "updated")
    empty = "No role differs: each may do what its template grants. The page Policy lists it."
    form = RoleGrantsForm
    add_fields = ("role", "reason")
    fields = ("permissions", "reason")
    change_form_template = "console/tenants/role_grants.html"
    edit_label = "Add or take grants"
    saved = "Saved. It applies from the next request on."
    creates = CreateAction(Act.ROLE_GRANT_WRITE, _create_role_grants, add_fields)
    amends = (EditAction(Act.ROLE_GRANT_WRITE, _write_role_grants),)
    panels = PanelReader(role_grants_panels)
    buttons = (
        Button(
            "withdraw",
            "Return to the template",
            Act.ROLE_GRANT_WITHDRAW,
            withdraw_role_grants,
            done="Withdrawn. The role may do what its template grants.",
            consequence="From the next request on the role may do all that its template grants, in the whole tenant.",
            form=ReasonedDecisionForm,
            leads_to=_role_list_url,
        ),
    )

    how_many = column("Grants", _share_of_template)


class GrantsAdmin(GovernedAdmin):
    """One row for each agent and role whose grants differ from the rest of the tenant."""

    list_display = ("agent", "role", "how_many", "updated")
    list_filter = ("agent", "role")
    list_select_related = ("agent",)
    empty = "No agent differs: each role may do the same with every agent."
    form = GrantsForm
    add_fields = ("agent", "role")
    fields = ("permissions",)
    change_form_template = "console/tenants/grants.html"
    edit_label = "Choose the grants"
    saved = "Saved. It applies from the next request on."
    creates = CreateAction(Act.GRANT_WRITE, _create_grants, add_fields)
    amends = (EditAction(Act.GRANT_WRITE, _write),)
    panels = PanelReader(grants_panels)
    buttons = (
        Button(
            "withdraw",
            "Withdraw",
            Act.GRANT_WITHDRAW,
            withdraw_grants,
            done="Withdrawn. The role has the same grants here as elsewhere.",
            consequence="From the next request on the role may do with agent {agent} what it may elsewhere.",
            form=OptionalReasonForm,
            leads_to=_page_of_agent,
        ),
    )

    how_many = column("Grants", _share_of_template)
