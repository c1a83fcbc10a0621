"""Agents, their settings, and their tokens."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone

from apps.console.framework.actor_names import actor_label
from apps.console.framework.forms import OptionalReasonForm, TokenRequestForm
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import column, moment_column
from apps.console.framework.page_actions import Button, CreateAction, EditAction, PanelReader
from apps.console.framework.request_context import actor_of, people_of
from apps.console.framework.row_urls import url_of_subject
from apps.console.framework.token_usage import ending_cost_sentence
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import current_actor
from apps.governance.governed_write import may
from apps.governance.policy.policy_table import Act
from apps.learning.contradictions.scan_runs import request_scan
from apps.memory.models import AgentMemory, MemoryBlock
from apps.personas.models import IdentityCard, Persona, PersonaOverlay, StandingRule
from apps.runtime.explain.session_ending import cost_of_ending
from apps.skills.models import Skill
from apps.tenants.actions import amend_agent, create_agent, end_sessions, issue_token, revoke_token, rotate_token
from apps.tenants.models import Agent, AgentToken, InvokableAgent
from apps.tenants.models.grants import AgentGrants, MemberLimit


def agent_panels(agent: Any, request: HttpRequest) -> dict[str, Any]:
    """Return what the agent's page shows: its persona, rules, memory, skills, tokens, grants and limits."""
    actor = actor_of(request)
    return {
        "persona": Persona.objects.visible_to(actor).filter(agent=agent).first(),
        "overlay": PersonaOverlay.objects.visible_to(actor).filter(agent=agent).first(),
        "cards": IdentityCard.objects.visible_to(actor).filter(agent=agent),
        "rule_count": StandingRule.objects.visible_to(actor).active().filter(agent=agent).count(),
        "memory": AgentMemory.objects.visible_to(actor).filter(agent=agent).first(),
        "skill_count": Skill.objects.visible_to(actor).approved().for_agent(agent.pk).count(),
        "blocks": MemoryBlock.objects.visible_to(actor).filter(agent=agent),
        "invokables": InvokableAgent.objects.visible_to(actor).filter(agent=agent).select_related("callee"),
        "tokens": AgentToken.objects.visible_to(actor).filter(agent=agent),
        "role_grants": AgentGrants.objects.visible_to(actor).filter(agent=agent),
        "limits": [
            (people_of(request)[actor_label(limit.member.user_id)], limit)
            for limit in MemberLimit.objects.visible_to(actor)
            .filter(agent_ids__contains=agent.pk)
            .select_related("member")
        ],
        "may_set_grants": may(actor, Act.GRANT_WRITE),
        "may_confine": may(actor, Act.LIMIT_WRITE),
        "now": timezone.now(),
    }


def token_panels(token: Any, request: HttpRequest) -> dict[str, Any]:
    """Return the state of the token."""
    return {"standing": token_state(token)}


def token_state(token: AgentToken) -> str:
    """Return the state of a token: live, expired or revoked."""
    if token.revoked_at:
        return "revoked"
    return "expired" if token.expires_at and token.expires_at <= timezone.now() else "live"


def _is_live(token: AgentToken) -> bool:
    return token_state(token) == "live"


def _page_of_agent(token: AgentToken) -> str:
    return url_of_subject("tenants.agent", token.agent_id)


def _scan_contradictions(agent: Agent, *, actor: Actor) -> Agent:
    request_scan(agent.pk, actor=actor)
    return agent


def _ending_consequence(agent: Agent) -> str:
    reader = current_actor()
    cost = cost_of_ending([agent], actor=reader, now=timezone.now()) if reader else None
    said = "The next turn of each conversation begins with a new prompt, made of what is approved now."
    return f"{said} {ending_cost_sentence(cost)}" if cost else said


class AgentAdmin(GovernedAdmin):
    """The agents of the tenant."""

    list_display = ("key", "title", "model_used", "has_learning", "max_steps", "updated")
    search_fields = ("key", "title")
    search_help_text = "Search key or title"
    empty = "No agent yet. Make one from a template, or add one and give it a persona and a token."
    list_before_template = "console/agents/agents_list_header.html"
    add_fields = ("key", "title", "has_learning")
    fields = (
        "title",
        "flavour",
        "model",
        "fallback_model",
        "endpoint",
        "contract",
        "has_learning",
        "has_current_time",
        "send_mode",
        "debounce_seconds",
        "mid_turn_message_mode",
        "context_tier",
        "skill_index",
        "session_idle_seconds",
        "max_session_age_seconds",
        "max_steps",
        "may_propose_schedules",
        "may_show_tables_and_charts",
        "may_edit_memory",
        "may_edit_skills",
        "has_reflection",
        "has_notebook",
        "has_examples",
        "is_memory_distilled",
        "is_short_tier_distilled",
        "is_mid_tier_distilled",
        "is_long_tier_distilled",
        "distil_model_mid",
        "distil_endpoint_mid",
        "distil_model_long",
        "distil_endpoint_long",
        "turn_budget_micro_usd",
        "delay_notice",
        "channel_delay_notices",
    )
    change_form_template = "console/agents/agent.html"
    edit_label = "Edit how it runs"
    saved = "Saved. Changes of the prompt apply from the next session on, all others from the next message on."
    creates = CreateAction(Act.AGENT_CREATE, create_agent, add_fields)
    amends = (EditAction(Act.AGENT_AMEND, amend_agent),)
    panels = PanelReader(agent_panels)
    buttons = (
        Button(
            "issue",
            "Issue a token",
            Act.TOKEN_ISSUE,
            issue_token,
            takes_read_at=False,
            done="",
            consequence="Whoever holds the token acts as agent {agent}. It is shown once.",
            form=TokenRequestForm,
            tone="primary",
            answer_template="console/agents/agent_token_issued.html",
        ),
        Button(
            "end_sessions",
            "End open sessions",
            Act.AGENT_END_SESSIONS,
            end_sessions,
            takes_read_at=False,
            done="Ended. The next turn of each conversation begins with a new prompt.",
            consequence=_ending_consequence,
            form=OptionalReasonForm,
        ),
        Button(
            "look",
            "Look for contradictions",
            Act.CONTRADICTION_SCAN,
            _scan_contradictions,
            takes_read_at=False,
            done="Everything the agent follows is compared within a minute. Findings appear under Contradictions.",
            consequence="Persona, rules, memory, blocks and approved skills of agent {agent} are compared within a minute; every"
            " night does the same.",
            on_others=True,
        ),
    )

    @admin.display(description="Model")
    def model_used(self, agent: Agent) -> str:
        return agent.model or "the installation's default"


class TokenAdmin(GovernedAdmin):
    """Tokens with their purpose and state; their secrets are never shown."""

    list_display = ("name", "prefix", "agent", "state", "expires", "last_used")
    list_filter = ("agent",)
    list_select_related = ("agent",)
    search_fields = ("name", "prefix")
    search_help_text = "Search name or beginning"
    empty = "No token yet. Issue one on an agent's page."
    fields = ()
    change_form_template = "console/agents/agent_token.html"
    panels = PanelReader(token_panels)
    buttons = (
        Button(
            "rotate",
            "Rotate",
            Act.TOKEN_ROTATE,
            rotate_token,
            takes_read_at=False,
            done="",
            consequence="A new token is shown once; this one goes on for 24 hours, so that nothing stops in between.",
            when=_is_live,
            tone="primary",
            answer_template="console/agents/agent_token_issued.html",
        ),
        Button(
            "revoke",
            "Revoke",
            Act.TOKEN_REVOKE,
            revoke_token,
            takes_read_at=False,
            done="Revoked. The next request with this token is refused.",
            consequence="The next request with this token is refused. There is no way back: issue another one.",
            when=_is_live,
            tone="danger",
            leads_to=_page_of_agent,
        ),
    )

    expires = moment_column("Expires", "expires_at")
    last_used = moment_column("Last used", "last_used_at")
    state = column("State", token_state)
