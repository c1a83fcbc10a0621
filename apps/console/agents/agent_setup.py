"""New agents from a template, and a page with the steps until the agent answers customers (R038)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from django import forms
from django.contrib.admin import AdminSite
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from apps.console.agents.agents import token_state
from apps.console.chat.chat_page import submit_message
from apps.console.framework.request_context import actor_of, settings_of
from apps.console.framework.row_urls import url_of_subject
from apps.conversations.models import Conversation
from apps.governance.actors import Actor
from apps.governance.governed_write import may
from apps.governance.policy.policy_table import Act
from apps.personas.agent_creation import create_agent_with_persona
from apps.personas.models import SECTIONS, Persona
from apps.personas.templates import PersonaTemplate, find_template, persona_templates
from apps.skills.models import Skill
from apps.tenants.models import Agent, AgentToken, Membership

SECTION_LABELS = {name: name.capitalize() for name in SECTIONS}


class NewAgentForm(forms.Form):
    """The template, and the key and title of the agent."""

    template = forms.ChoiceField(label="Template", widget=UnfoldAdminSelectWidget)
    key = forms.CharField(
        required=False,
        max_length=40,
        widget=UnfoldAdminTextInputWidget,
        help_text="How tokens, commands and REST name it; it never changes. Empty: the template's.",
    )
    title = forms.CharField(
        required=False,
        max_length=120,
        widget=UnfoldAdminTextInputWidget,
        help_text="How your colleagues see it named. Empty: the template's.",
    )

    def __init__(self, *args: Any, actor: Actor, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        self.actor = actor
        field: Any = self.fields["template"]  # Any: the stubs know no choices of a form's field
        field.choices = [(each.key, each.title) for each in persona_templates()]

    def clean(self) -> dict[str, Any]:
        """Fill empty values from the template; refuse a key that another agent has."""
        values: dict[str, Any] = super().clean() or {}
        if "template" not in values:
            return values
        template = find_template(values["template"])
        values |= {"key": values.get("key") or template.key, "title": values.get("title") or template.title}
        if Agent.objects.visible_to(self.actor).filter(key=values["key"]).exists():
            self.add_error("key", f"An agent has the key {values['key']} already. Choose another key.")
        return values


@dataclass(frozen=True, slots=True)
class SetupStep:
    """One step of the set-up with its link; `url` is empty where the reader may not take the step."""

    title: str
    sentence: str
    url: str
    link: str
    is_done: bool = False


def new_agent_page(site: AdminSite, request: HttpRequest) -> HttpResponse:
    """Show the templates as they would read for this tenant; a POST creates the agent with its persona."""
    actor, business = actor_of(request), settings_of(request).tenant.name
    asked = request.GET.get("template", "support")
    form = NewAgentForm(request.POST if request.method == "POST" else None, actor=actor, initial={"template": asked})
    done, refusal, status = submit_message(form, partial(_create_and_redirect, actor=actor, business=business))
    if done:
        return done
    context: dict[str, Any] = {
        **site.each_context(request),
        "title": "New agent from a template",
        "form": form,
        "refusal": refusal,
        "may_make": may(actor, Act.AGENT_CREATE) and may(actor, Act.PERSONA_CREATE),
        "templates": [_template_preview(template, business) for template in persona_templates()],
    }
    return TemplateResponse(request, "console/agents/new_agent.html", context, status=status)


def first_steps_page(site: AdminSite, request: HttpRequest, agent_id: int) -> HttpResponse:
    """Show the steps until the agent answers customers, and which of them are done."""
    actor = actor_of(request)
    agent = Agent.objects.visible_to(actor).filter(pk=agent_id).first()
    if agent is None:
        raise Http404
    context: dict[str, Any] = {
        **site.each_context(request),
        "title": f"First steps of {agent.title}",
        "agent": agent,
        "steps": agent_setup_steps(agent, actor),
        "messages_url": request.build_absolute_uri("/api/v1/messages/?wait=30"),
    }
    return TemplateResponse(request, "console/agents/setup_steps.html", context)


def new_agent_urls(site: AdminSite) -> list[URLPattern]:
    """Return the URL patterns of both pages."""
    return [
        path("new-agent/", site.admin_view(partial(new_agent_page, site)), name="new_agent"),
        path("new-agent/<int:agent_id>/", site.admin_view(partial(first_steps_page, site)), name="first_steps"),
    ]


def agent_setup_steps(agent: Agent, actor: Actor) -> list[SetupStep]:
    """Return the steps in the recommended order."""
    return [*_steps_before_customers(agent, actor), *_steps_with_customers(agent, actor)]


def _steps_before_customers(agent: Agent, actor: Actor) -> list[SetupStep]:
    persona = Persona.objects.visible_to(actor).filter(agent=agent).first()
    gives = reverse("admin:personas_persona_add") if may(actor, Act.PERSONA_CREATE) else ""
    return [
        SetupStep(
            "Give it a persona",
            "Who it is, how it writes, what it avoids and what it is for. Its next session speaks by what stands there.",
            url_of_subject("personas.persona", persona.pk) if persona else gives,
            "Read and change it" if persona else "Give it one",
            persona is not None,
        ),
        SetupStep(
            "Try it",
            "Write as a customer would and see its prompt beside the answer. Nothing is learned, counted or sent.",
            f"{reverse('admin:playground')}?agent={agent.pk}",
            "To the playground",
        ),
        SetupStep(
            "Give it a token",
            "What carries its customers' messages comes in with it. It is shown once.",
            url_of_subject("tenants.agent", agent.pk),
            "Issue one on its page",
            any(token_state(token) == "live" for token in AgentToken.objects.visible_to(actor).filter(agent=agent)),
        ),
    ]


def _steps_with_customers(agent: Agent, actor: Actor) -> list[SetupStep]:
    talks = Conversation.objects.visible_to(actor).filter(agent=agent)
    return [
        SetupStep(
            "Send it a customer's message",
            "By REST, as below; how chat, mail and telephone are connected stands in docs/channels.md.",
            reverse("admin:conversations_conversation_changelist"),
            "Conversations",
            talks.of_customers().exists(),
        ),
        SetupStep(
            "Let somebody decide with you",
            "What agents learn waits for a yes, and a change of high risk may need two.",
            reverse("admin:tenants_membership_changelist"),
            "Invite a colleague",
            Membership.objects.visible_to(actor).count() > 1,
        ),
        SetupStep(
            "Approve its first runbook",
            "Resolve a conversation that was solved, and a draft appears in the inbox; once approved, every customer has it.",
            f"{reverse('admin:skills_skill_changelist')}?status__exact=draft",
            "Skill drafts",
            Skill.objects.visible_to(actor).approved().for_agent(agent.pk).exists(),
        ),
    ]


def _create_and_redirect(values: Mapping[str, Any], *, actor: Actor, business: str) -> HttpResponse:
    template = find_template(values["template"])
    agent = create_agent_with_persona(values["key"], values["title"], template.sections(business), actor=actor)
    return HttpResponseRedirect(reverse("admin:first_steps", args=[agent.pk]), status=303)


def _template_preview(template: PersonaTemplate, business: str) -> dict[str, Any]:
    sections = template.sections(business)
    return {
        "key": template.key,
        "title": template.title,
        "sections": [(SECTION_LABELS[name], text.strip()) for name, text in sections.items()],
    }
