"""Agent handoffs: the other agents of the tenant that an agent may ask."""

from typing import Any

from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.page_actions import Button, CreateAction, EditAction
from apps.console.framework.row_urls import url_of_subject
from apps.governance.actors import Actor
from apps.governance.policy.policy_table import Act
from apps.tenants.actions import allow_invokable, amend_invokable, withdraw_invokable
from apps.tenants.models import Agent, InvokableAgent


def _allow(*, actor: Actor, agent: Agent, callee: Agent, **terms: Any) -> InvokableAgent:
    return allow_invokable(agent.pk, callee.pk, actor=actor, **terms)


def _page_of_agent(invokable: InvokableAgent) -> str:
    return url_of_subject("tenants.agent", invokable.agent_id)


class InvokableAdmin(GovernedAdmin):
    """One row for each pair of agents of which one may ask the other."""

    list_display = ("agent", "callee", "role_hint", "updated")
    list_filter = ("agent",)
    list_select_related = ("agent", "callee")
    search_fields = ("agent__key", "callee__key", "role_hint")
    search_help_text = "Search agents or hint"
    empty = "No agent may ask another one yet. Add a pair, and say what the other one is good for."
    add_fields = ("agent", "callee", "role_hint", "budget_micro_usd")
    fields = ("role_hint", "budget_micro_usd")
    change_form_template = "console/agents/delegation.html"
    saved = "Saved. It applies from the next session on; sessions already open keep what they started with."
    creates = CreateAction(Act.INVOKABLE_ALLOW, _allow, add_fields)
    amends = (EditAction(Act.INVOKABLE_AMEND, amend_invokable),)
    buttons = (
        Button(
            "withdraw",
            "Withdraw",
            Act.INVOKABLE_WITHDRAW,
            withdraw_invokable,
            done="Withdrawn. The next session no longer names that agent.",
            consequence="The next session no longer names the other agent. Sessions already open still do.",
            tone="danger",
            leads_to=_page_of_agent,
        ),
    )
