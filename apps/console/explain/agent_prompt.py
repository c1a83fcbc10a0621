"""The prompt of an agent at a moment, compared with its present prompt."""

from typing import Any

from django import forms
from django.contrib.admin import AdminSite
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from unfold.widgets import UnfoldAdminTextInputWidget

from apps.console.framework.form_errors import status_of
from apps.console.framework.request_context import actor_of
from apps.console.framework.row_titles import format_moment as written
from apps.console.framework.row_urls import url_of_subject
from apps.console.framework.text_diffs import FieldDiff, field_diffs
from apps.governance.actors import Actor
from apps.governance.errors import GovernanceError
from apps.memory.rules import END_USER_KEY_PATTERN, END_USER_KEY_RULE
from apps.prompt.instruction_texts import SLOT_TITLES
from apps.prompt.rendering.segments import PromptSnapshot
from apps.prompt.rendering.snapshot import render_snapshot
from apps.runtime.prompt_snapshot.preview import preview_at
from apps.tenants.models import Agent
from apps.tenants.tenant_clock import parse_moment, zone_of

NOW = "Now"


class PromptMomentForm(forms.Form):
    """The moment, and the customer."""

    at = forms.CharField(
        label="Moment",
        required=False,
        help_text="By the tenant's clock. Left out, it is the present one.",
        widget=UnfoldAdminTextInputWidget(attrs={"type": "datetime-local", "step": "1"}),
    )
    end_user_key = forms.RegexField(
        END_USER_KEY_PATTERN,
        label="Customer",
        required=False,
        help_text="Such as http:abc123. Left out, it is nobody.",
        error_messages={"invalid": END_USER_KEY_RULE},
        widget=UnfoldAdminTextInputWidget,
    )


def prompt_page(request: HttpRequest, agent_id: int, site: AdminSite) -> HttpResponse:
    """Show the prompt of a session that had opened at that moment; a GET changes nothing."""
    actor = actor_of(request)
    agent = Agent.objects.visible_to(actor).filter(pk=agent_id).first()
    if agent is None:
        raise Http404("There is no such agent.")
    form = PromptMomentForm(request.GET, label_suffix="")
    context: dict[str, Any] = {
        **site.each_context(request),
        "title": f"The prompt of agent {agent.key}",
        "agent": agent,
        "agent_url": url_of_subject(agent._meta.label_lower, agent.pk),
        "form": form,
    }
    status = 200
    if form.is_valid():
        try:
            context |= _prompt_context(agent, form.cleaned_data, actor)
        except GovernanceError as refusal:
            context["refusal"], status = str(refusal), status_of(refusal)
    return TemplateResponse(request, "console/explain/agent_prompt.html", context, status=status)


def _prompt_context(agent: Agent, asked: dict[str, str], actor: Actor) -> dict[str, Any]:
    customer = asked["end_user_key"]
    now = render_snapshot(preview_at(agent, customer, None, actor=actor))
    if not asked["at"]:
        return {"assembled": now, "when": NOW}
    moment = parse_moment(asked["at"], zone_of(actor), timezone.now())
    then = render_snapshot(preview_at(agent, customer, moment, actor=actor))
    return {
        "assembled": then,
        "when": written(moment),
        "left": written(moment),
        "right": NOW,
        "diffs": _diffs(then, now),
    }


def _diffs(then: PromptSnapshot, now: PromptSnapshot) -> list[FieldDiff]:
    return field_diffs(_by_slot(then), _by_slot(now))


def _by_slot(assembled: PromptSnapshot) -> dict[str, object]:
    return {
        f"Slot {part.slot.value}: {SLOT_TITLES.get(part.slot, part.slot.name)}": part.text for part in assembled.parts
    }
