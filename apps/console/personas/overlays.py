"""Overlays: an operator's additions to an agent's persona, read after it."""

from typing import Any

from django.http import HttpRequest

from apps.console.explain.prompt_preview import slot_text, typed_change
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import beginning_column
from apps.console.framework.page_actions import CreateAction, EditAction, PanelReader
from apps.console.framework.request_context import actor_of
from apps.governance.actors import Actor
from apps.governance.policy.policy_table import Act
from apps.personas.actions import create_overlay, write_overlay
from apps.personas.models import PersonaOverlay
from apps.prompt.prompt_input import Slot
from apps.prompt.text_limits import SECTION_CHARACTERS
from apps.tenants.models import Agent


def overlay_panels(overlay: PersonaOverlay, request: HttpRequest) -> dict[str, Any]:
    """Return slot 1 as the next session will carry it, or with the typed text if a preview was asked for."""
    would = typed_change(overlay, request, ("text",))
    return {
        "preview": slot_text(overlay.agent, Slot.PERSONA, actor_of(request), would),
        "previewed": would is not None,
        "is_previewed": overlay.agent.has_learning,
    }


def _create(*, actor: Actor, agent: Agent, text: str) -> PersonaOverlay:
    return create_overlay(agent.pk, actor=actor, text=text)


class OverlayAdmin(GovernedAdmin):
    """One overlay per agent, written by people only."""

    list_display = ("agent", "beginning", "version", "updated")
    list_select_related = ("agent",)
    search_fields = ("agent__key", "text")
    search_help_text = "Search agent or text"
    empty = "No overlay here. Add one to adjust how an agent speaks without touching its persona."
    add_fields = ("agent", "text")
    fields = ("text",)
    counts = dict.fromkeys(fields, SECTION_CHARACTERS)
    change_form_template = "console/personas/overlay.html"
    saved = "Saved. It applies from the agent's next session on; sessions already open keep what they started with."
    creates = CreateAction(Act.OVERLAY_WRITE, _create, add_fields)
    amends = (EditAction(Act.OVERLAY_WRITE, write_overlay),)
    panels = PanelReader(overlay_panels)

    beginning = beginning_column("Text", "text", missing="(cleared)")
