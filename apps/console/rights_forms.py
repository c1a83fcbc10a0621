"""Forms of who may do what: their choices are the tenant's agents and the acts of the policy."""

from collections.abc import Collection
from typing import Any

from django import forms
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from apps.console.forms import Decision, GovernedForm, Prose
from apps.console.people import label_of, people_of_tenant
from apps.console.titles import in_words
from apps.governance.actors import Role
from apps.governance.policy.table import POLICY, Act, codenames, default_grants
from apps.tenants.models import Agent
from apps.tenants.models.people import ROLES


class InvitationForm(GovernedForm):
    """Whom to let in, and as what."""

    email = forms.EmailField(
        label="Mail address",
        max_length=150,
        widget=UnfoldAdminTextInputWidget,
        help_text="They sign in by it, and come in by a link that works once.",
    )


class RoleDecision(Decision):
    """What a member becomes."""

    role = forms.ChoiceField(choices=ROLES, widget=UnfoldAdminSelectWidget)


class LimitForm(GovernedForm):
    """Which act of a member, and for which agents it remains."""

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
        # Whoever may only read has no fields here at all.
        if "agent_ids" in self.fields:
            agents: Any = self.fields["agent_ids"]
            agents.choices = [(agent.pk, str(agent)) for agent in Agent.objects.visible_to(self.actor)]
        if not self.instance._state.adding:
            self.fields.pop("limited_act", None)
        if "member" in self.fields:
            members: Any = self.fields["member"]
            names = people_of_tenant(self.actor)
            members.label_from_instance = lambda member: f"{names[label_of(member.user_id)]} ({member.role})"


class ChecksByGroup(UnfoldAdminCheckboxSelectMultipleWidget):
    """Check boxes under a heading for each group of choices."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        """By the console's own templates, which the renderer of forms does not look among."""
        del renderer
        return render_to_string("console/checks_by_group.html", self.get_context(name, value, attrs))


class GrantsForm(GovernedForm):
    """What the role may do with the agent: on its page every grant that the role floor leaves."""

    permissions = forms.MultipleChoiceField(
        label="May",
        required=False,
        widget=ChecksByGroup,
        help_text="Untick what it may not do here. With a field unticked, the act goes on for the others.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance._state.adding:
            self.fields.pop("permissions", None)
        elif "permissions" in self.fields:
            granted: Any = self.fields["permissions"]
            granted.choices = by_noun(default_grants(Role(self.instance.role)))


class RoleGrantsForm(GrantsForm):
    """The grants of a role in the tenant, and the reason for the change."""

    reason = Prose(
        label="Why",
        max_length=2000,
        help_text="Kept in the history.",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
    )


def by_noun(names: Collection[str]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Grants as choices under their nouns, in the order of the policy; under a noun each goes without it."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for act in Act:
        noun = act.noun.replace("_", " ")
        held = [(name, in_words(name).removeprefix(f"{noun} ")) for name in codenames(act) if name in names]
        if held:
            groups.setdefault(noun, []).extend(held)
    return list(groups.items())
