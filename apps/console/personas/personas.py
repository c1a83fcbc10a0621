"""Personas: the live sections, their part of the prompt, and the agent's proposals."""

from typing import Any

from django.http import HttpRequest

from apps.console.explain.prompt_preview import slot_text, typed_change
from apps.console.framework.forms import OptionalReasonForm
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import beginning_column
from apps.console.framework.page_actions import Button, CreateAction, EditAction, PanelReader, Tabs, as_mapping
from apps.console.framework.request_context import actor_of, settings_of
from apps.console.review.inbox_filters import open_proposals_about
from apps.governance.actors import Actor
from apps.governance.policy.policy_table import Act
from apps.personas.actions import activate_persona, amend_persona, archive_persona, create_persona
from apps.personas.models import SECTIONS, Persona
from apps.personas.templates import persona_templates
from apps.prompt.prompt_input import Slot
from apps.prompt.text_limits import SECTION_CHARACTERS
from apps.tenants.models import Agent


def persona_panels(persona: Any, request: HttpRequest) -> dict[str, Any]:
    """Return slot 1 as the next session will carry it, or with the typed text, and the open proposals."""
    actor, would = actor_of(request), typed_change(persona, request, SECTIONS)
    return {
        "preview": slot_text(persona.agent, Slot.PERSONA, actor, would),
        "previewed": would is not None,
        "is_previewed": persona.status == Persona.Status.ACTIVE and persona.agent.has_learning,
        "proposals": open_proposals_about(persona, actor),
    }


def initial_sections(request: HttpRequest) -> dict[str, Any]:
    """Return the initial texts: a template in the tenant's name (`template`), or another agent's persona (`clone`); Z-18."""
    asked = request.GET
    for template in persona_templates():
        if template.key == asked.get("template"):
            return template.sections(settings_of(request).tenant.name)
    if (cloned := asked.get("clone", "")).isdecimal():
        return Persona.objects.visible_to(actor_of(request)).filter(pk=cloned).values(*SECTIONS).first() or {}
    return {}


def _create(*, actor: Actor, agent: Agent, **sections: str) -> Persona:
    return create_persona(agent.pk, actor=actor, values=sections)


def _is_active(persona: Persona) -> bool:
    return bool(persona.status == Persona.Status.ACTIVE)


def _is_archived(persona: Persona) -> bool:
    return bool(persona.status == Persona.Status.ARCHIVED)


class PersonaAdmin(GovernedAdmin):
    """Identity and voice of each agent."""

    list_display = ("agent", "status", "opening", "version", "updated")
    list_select_related = ("agent",)
    search_fields = ("agent__key", "identity")
    search_help_text = "Search agent or identity"
    tabs = Tabs("status", tuple(Persona.Status.choices), first=Persona.Status.ACTIVE)
    empty = "No persona here. Until an agent has one it speaks by the default prompt; add one to give it a voice."
    add_fields = ("agent", *SECTIONS)
    fields = SECTIONS
    counts = dict.fromkeys(SECTIONS, SECTION_CHARACTERS)
    change_form_template = "console/personas/persona.html"
    list_before_template = "console/personas/personas_list_header.html"
    saved = "Saved. It applies from the agent's next session on; sessions already open keep what they started with."
    creates = CreateAction(Act.PERSONA_CREATE, _create, add_fields, begins=initial_sections)
    amends = (EditAction(Act.PERSONA_AMEND, as_mapping(amend_persona)),)
    panels = PanelReader(persona_panels)
    buttons = (
        Button(
            "archive",
            "Archive",
            Act.PERSONA_ARCHIVE,
            archive_persona,
            done="Archived. The next session does not carry it; overlay, identity card and rules stay.",
            consequence="The next session of agent {agent} goes without it; overlay, identity card and rules stay.",
            form=OptionalReasonForm,
            when=_is_active,
            tone="danger",
        ),
        Button(
            "activate",
            "Activate",
            Act.PERSONA_ACTIVATE,
            activate_persona,
            done="Active. The next session uses this persona again.",
            consequence="The next session of agent {agent} speaks by this persona again.",
            form=OptionalReasonForm,
            when=_is_archived,
            tone="primary",
        ),
    )

    opening = beginning_column("Identity", "identity")
