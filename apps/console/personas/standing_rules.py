"""Rules: instructions for every agent of the organisation, and for single agents."""

from typing import Any

from django.http import HttpRequest

from apps.console.explain.prompt_preview import text_of_rows
from apps.console.framework.forms import OptionalReasonForm
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import beginning_column
from apps.console.framework.page_actions import Button, CreateAction, EditAction, PanelReader, Tabs, as_mapping
from apps.console.framework.request_context import actor_of
from apps.governance.actors import Actor
from apps.governance.policy.policy_table import Act
from apps.personas.actions import add_rule, amend_rule, restore_rule, retire_rule
from apps.personas.models import StandingRule
from apps.personas.rules import RULE_CHARACTERS
from apps.prompt.prompt_input import Slot
from apps.prompt.text_limits import RULES_CHARACTERS
from apps.tenants.models import Agent

RULE_FIELDS = ("text", "position")


def rule_panels(rule: StandingRule, request: HttpRequest) -> dict[str, Any]:
    """Return the rules as the next session carries them, and the characters they take of the common limit."""
    actor = actor_of(request)
    reader = rule.agent or Agent.objects.visible_to(actor).filter(has_learning=True).first()
    beside = StandingRule.objects.visible_to(actor).active().filter(agent=rule.agent)
    return {
        "reader": reader,
        "preview": text_of_rows(reader, Slot.CONTRACT, StandingRule, actor) if reader else "",
        "characters": sum(len(text) for text in beside.values_list("text", flat=True)),
        "room": RULES_CHARACTERS,
    }


def _create(*, actor: Actor, agent: Agent | None, text: str, position: int) -> StandingRule:
    return add_rule(agent.pk if agent else None, actor=actor, text=text, position=position)


def _is_active(rule: StandingRule) -> bool:
    return bool(rule.status == StandingRule.Status.ACTIVE)


def _is_retired(rule: StandingRule) -> bool:
    return bool(rule.status == StandingRule.Status.RETIRED)


class RuleAdmin(GovernedAdmin):
    """Rules in the order of the prompt: the organisation's, then each agent's."""

    list_display = ("beginning", "agent", "position", "status", "version", "updated")
    list_filter = ("agent",)
    list_select_related = ("agent",)
    search_fields = ("agent__key", "text")
    search_help_text = "Search agent or text"
    tabs = Tabs("status", tuple(StandingRule.Status.choices), first=StandingRule.Status.ACTIVE)
    empty = "No rule here. Add one to tell all agents, or one of them, what they must always or never do."
    empty_value_display = "the organisation"
    add_fields = ("agent", *RULE_FIELDS)
    fields = RULE_FIELDS
    counts = dict.fromkeys(("text",), RULE_CHARACTERS)
    change_form_template = "console/personas/standing_rule.html"
    saved = "Saved. While it is active, it applies from the next session on; sessions already open stay as they are."
    creates = CreateAction(Act.RULE_ADD, _create, add_fields)
    amends = (EditAction(Act.RULE_AMEND, as_mapping(amend_rule)),)
    panels = PanelReader(rule_panels)
    buttons = (
        Button(
            "retire",
            "Retire",
            Act.RULE_RETIRE,
            retire_rule,
            done="Retired. The next session does not carry it.",
            consequence="The next session of whoever keeps to this rule goes without it.",
            form=OptionalReasonForm,
            when=_is_active,
            tone="danger",
        ),
        Button(
            "restore",
            "Restore",
            Act.RULE_RESTORE,
            restore_rule,
            done="Restored. The next session carries it again.",
            consequence="The next session of whoever kept to this rule keeps to it again.",
            form=OptionalReasonForm,
            when=_is_retired,
            tone="primary",
        ),
    )

    beginning = beginning_column("Rule", "text", missing="")
