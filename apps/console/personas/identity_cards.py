"""Identity cards: the business and person that an agent represents, always or on one line."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from apps.console.explain.prompt_preview import slot_text
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.page_actions import CreateAction, EditAction, PanelReader, as_mapping
from apps.console.framework.request_context import actor_of
from apps.governance.actors import Actor
from apps.governance.policy.policy_table import Act
from apps.personas.actions import create_identity_card, write_identity_card
from apps.personas.models import CARD_FIELDS, IdentityCard
from apps.personas.rules import PARAGRAPH_CHARACTERS
from apps.prompt.prompt_input import Slot
from apps.tenants.models import Agent

WRITTEN_FIELDS = ("line_key", *CARD_FIELDS)


def card_panels(card: IdentityCard, request: HttpRequest) -> dict[str, Any]:
    """Return slot 1 as the next session will carry it; the card of a line goes into the turn instead."""
    return {"preview": "" if card.line_key else slot_text(card.agent, Slot.PERSONA, actor_of(request))}


def _create(*, actor: Actor, agent: Agent, **values: str) -> IdentityCard:
    return create_identity_card(agent.pk, actor=actor, values=values)


class IdentityCardAdmin(GovernedAdmin):
    """The card of each agent, and the cards of lines on which it represents somebody else."""

    list_display = ("agent", "line", "business_name", "assigned_name", "version", "updated")
    list_filter = ("agent",)
    list_select_related = ("agent",)
    search_fields = ("agent__key", "line_key", "business_name", "assigned_name")
    search_help_text = "Search agent, line or name"
    empty = "No identity card here. Add one to tell an agent which business and which person it writes for."
    add_fields = ("agent", *WRITTEN_FIELDS)
    fields = WRITTEN_FIELDS
    counts = dict.fromkeys(("hours", "signature"), PARAGRAPH_CHARACTERS)
    change_form_template = "console/personas/identity_card.html"
    saved = "Saved. The agent's own card applies from the next session on, a line's card from the next message there."
    creates = CreateAction(Act.IDENTITY_CARD_WRITE, _create, add_fields)
    amends = (EditAction(Act.IDENTITY_CARD_WRITE, as_mapping(write_identity_card)),)
    panels = PanelReader(card_panels)

    @admin.display(description="Line", ordering="line_key")
    def line(self, card: IdentityCard) -> str:
        return card.line_key or "(the agent's own)"
