"""Console page that plans and runs a restore, and the admin of checkpoints.

The page first shows what would change. The POST names the hash of that plan and carries out exactly that plan, or nothing. A
checkpoint is a named moment to restore to.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django import forms
from django.apps import apps
from django.contrib import messages
from django.contrib.admin import AdminSite
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from apps.console.framework.form_errors import status_of
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import moment_column, person_column
from apps.console.framework.page_actions import CreateAction
from apps.console.framework.request_context import actor_of
from apps.console.framework.row_titles import format_moment
from apps.console.framework.row_urls import url_of_subject
from apps.console.framework.text_diffs import FieldDiff, field_diffs
from apps.governance.actors import Actor
from apps.governance.errors import GovernanceError, Invalid
from apps.governance.models import Governed
from apps.governance.policy.policy_table import Act
from apps.restore.actions import make_checkpoint
from apps.restore.execution import StalePlan, carry_out_restore
from apps.restore.models import Checkpoint
from apps.restore.plan import (
    MomentTarget,
    RestorePlan,
    RowTarget,
    Target,
    checkpoint_target,
    make_restore_plan,
    missing_rights,
)
from apps.restore.plan_steps import RestoreStep
from apps.tenants.models import Agent
from apps.tenants.tenant_clock import parse_moment, zone_of

MOMENT_FORMAT: Final = "%Y-%m-%dT%H:%M:%S"
# The parameters of an address or a form that name the target of a restore.
TARGET_PARAMETERS = ("checkpoint", "row", "version", "agent", "at", "with_profiles")


@dataclass(frozen=True, slots=True)
class ShownStep:
    """A step as the page shows it."""

    step: RestoreStep
    url: str
    diffs: list[FieldDiff]
    # Set on the first act of each row: whether its box can be ticked, and otherwise the rights that the actor lacks.
    is_first: bool
    lacks: tuple[str, ...]
    is_ticked: bool


class RestoreMomentForm(forms.Form):
    """The agent, or the whole tenant, and the moment to restore."""

    agent = forms.ModelChoiceField(
        queryset=Agent.objects.none(),
        required=False,
        empty_label="The whole tenant",
        widget=UnfoldAdminSelectWidget,
    )
    at = forms.CharField(
        label="Moment",
        help_text="By the tenant's clock.",
        widget=UnfoldAdminTextInputWidget(attrs={"type": "datetime-local", "step": "1"}),
    )
    with_profiles = forms.BooleanField(
        label="Customers' profiles too",
        required=False,
        help_text="For the whole tenant only. They are people's data; nothing else of this page touches them.",
    )

    def __init__(self, *args: Any, actor: Actor, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        field: Any = self.fields["agent"]  # Any: the stubs know no queryset of a form's field
        field.queryset = Agent.objects.visible_to(actor)


class RestoreReasonForm(forms.Form):
    """The reason for a restore."""

    why = forms.CharField(
        label="Why",
        required=False,
        max_length=300,
        help_text="Stands in the reason of every change, and with the way back.",
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
    )


@dataclass(frozen=True, slots=True)
class SuggestedMoment:
    """A moment that people often choose, in the tenant's time zone."""

    title: str
    at: str


def suggested_moments(now: datetime) -> tuple[SuggestedMoment, ...]:
    """Return the suggested moments that have passed; `now` is in the tenant's time zone."""
    yesterday, week = now - timedelta(days=1), now - timedelta(days=7)
    found = (
        ("An hour ago", now - timedelta(hours=1)),
        ("This morning, 8:00", now.replace(hour=8, minute=0, second=0)),
        ("Yesterday, 18:00", yesterday.replace(hour=18, minute=0, second=0)),
        ("A week ago, 18:00", week.replace(hour=18, minute=0, second=0)),
    )
    return tuple(SuggestedMoment(title, at.strftime(MOMENT_FORMAT)) for title, at in found if at <= now)


def restore_page(site: AdminSite, request: HttpRequest) -> HttpResponse:
    """A GET shows the plan and changes nothing; a POST carries out the plan whose hash it brings, or nothing."""
    actor, asked = actor_of(request), (request.POST if request.method == "POST" else request.GET).dict()
    moments = suggested_moments(timezone.now().astimezone(zone_of(actor)))
    yesterday = next(each.at for each in moments if each.title.startswith("Yesterday"))
    begun = {"agent": asked.get("agent"), "at": yesterday}
    form = RestoreMomentForm(asked if "at" in asked else None, actor=actor, initial=begun)
    context: dict[str, Any] = {"form": form, "suggested": moments}
    status = 200
    try:
        target = _target(asked, form, actor)
        if isinstance(target, MomentTarget):
            context["form"] = _form_for_target(target, actor)
        if target is not None and request.method == "POST":
            return _restore_and_redirect(request, target, actor)
        context |= _plan_context(make_restore_plan(target, actor=actor), request, actor) if target else {}
    except StalePlan as refusal:
        context |= {"refusal": str(refusal), **_plan_context(refusal.present, request, actor)}
        status = status_of(refusal)
    except GovernanceError as refusal:
        context["refusal"], status = str(refusal), status_of(refusal)
    again = [(name, asked[name]) for name in TARGET_PARAMETERS if asked.get(name)]
    context |= {**site.each_context(request), "title": "Restore", "asked": again}
    context["why"] = RestoreReasonForm(initial={"why": asked.get("why", "")}, label_suffix="")
    return TemplateResponse(request, "console/audit/restore.html", context, status=status)


def _form_for_target(target: MomentTarget, actor: Actor) -> RestoreMomentForm:
    """Return the form filled with the target; the browser's field takes no UTC offset."""
    at = target.moment.astimezone(zone_of(actor)).strftime(MOMENT_FORMAT)
    begun = {"agent": target.agent, "at": at, "with_profiles": target.with_profiles}
    return RestoreMomentForm(None, actor=actor, initial=begun)


def _target(asked: Mapping[str, str], form: RestoreMomentForm, actor: Actor) -> Target | None:
    if asked.get("checkpoint"):
        return _checkpoint_target(
            _number_or_404(asked.get("checkpoint", "")), actor, with_profiles="with_profiles" in asked
        )
    if asked.get("row"):
        kind, _, number = asked.get("row", "").partition(":")
        return RowTarget(_model_or_404(kind), _number_or_404(number), _number_or_404(asked.get("version", "")))
    if not form.is_bound or not form.is_valid():
        return None
    values = form.cleaned_data
    asked_for = parse_moment(values["at"], zone_of(actor), timezone.now())
    return MomentTarget(asked_for, values["agent"], values["with_profiles"])


def _checkpoint_target(checkpoint_id: int, actor: Actor, *, with_profiles: bool) -> MomentTarget:
    found = Checkpoint.objects.visible_to(actor).select_related("agent").filter(pk=checkpoint_id).first()
    if found is None:
        raise Http404("There is no such checkpoint.")
    return checkpoint_target(found, with_profiles=with_profiles)


def _model_or_404(kind: str) -> type[Governed]:
    model = next((model for model in apps.get_models() if model._meta.label_lower == kind), None)
    if model is None or not issubclass(model, Governed):
        raise Http404("There is no such type of row.")
    return model


def _number_or_404(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise Http404("This is not a number.")
    return int(text)


def _plan_context(found: RestorePlan, request: HttpRequest, actor: Actor) -> dict[str, Any]:
    only = _ticked_rows(request)
    rows: dict[str, list[RestoreStep]] = {}
    for step in found.steps:
        rows.setdefault(step.key, []).append(step)
    lacks = {key: tuple(missing_rights(steps, actor)) for key, steps in rows.items()}
    shown = [
        ShownStep(
            step,
            _step_url(step),
            field_diffs(step.before, step.after),
            is_first=step is rows[step.key][0],
            lacks=lacks[step.key],
            is_ticked=only is None or step.key in only,
        )
        for step in found.steps
    ]
    target = found.target
    heading = target.said
    if isinstance(target, MomentTarget):
        heading = (
            f"{f'Agent {target.agent.key}' if target.agent else 'The tenant'} as at {format_moment(target.moment)}"
        )
    can_do = not all(lacks.values())
    return {"plan": found, "steps": shown, "row_count": len(rows), "said": heading, "can_do": can_do}


def _step_url(step: RestoreStep) -> str:
    return url_of_subject(step.subject_type, step.subject_id) if step.version else ""


def _restore_and_redirect(request: HttpRequest, target: Target, actor: Actor) -> HttpResponse:
    sent = request.POST
    only, why = _ticked_rows(request), _reason(request)
    done, checkpoint = carry_out_restore(
        target, actor=actor, shown_sha256=sent.get("sha256", ""), only=only, reason=why
    )
    way_back = f" The state before it is the checkpoint “{checkpoint.name}”." if checkpoint else ""
    acts = "1 act" if len(done.steps) == 1 else f"{len(done.steps)} acts"
    messages.success(request, f"Restored: {acts}.{way_back} Sessions already open keep what they have.")
    return HttpResponseRedirect(_page_after_restore(target), status=303)


def _ticked_rows(request: HttpRequest) -> list[str] | None:
    """The rows that are ticked. A form without boxes means all of them; one in which none is ticked means none."""
    return request.POST.getlist("only") if "chosen" in request.POST else None


def _reason(request: HttpRequest) -> str:
    form = RestoreReasonForm(request.POST)
    if not form.is_valid():
        errors = [str(each) for each in form.errors["why"]]
        raise Invalid(f"Why: {' '.join(errors)} Nothing was done.", {"why": errors})
    return str(form.cleaned_data["why"])


def _page_after_restore(target: Target) -> str:
    if isinstance(target, RowTarget):
        return url_of_subject(target.model._meta.label_lower, target.row_id) or reverse("admin:index")
    if target.agent is not None:
        return url_of_subject(target.agent._meta.label_lower, target.agent.pk)
    return reverse("admin:restore_checkpoint_changelist")


def _make_checkpoint(*, actor: Actor, name: str, agent: Agent | None, reason: str) -> Checkpoint:
    return make_checkpoint(name, actor=actor, agent_id=agent.pk if agent else None, reason=reason)


class CheckpointAdmin(GovernedAdmin):
    """The checkpoints of the tenant; the page of each leads to its restore plan."""

    list_display = ("name", "agent", "at", "maker", "reason")
    list_filter = ("agent",)
    list_select_related = ("agent",)
    search_fields = ("name", "reason")
    search_help_text = "Search name or reason"
    empty = (
        "No checkpoint yet. Make one before a larger change; every restore of an agent or the tenant makes one, too."
    )
    empty_value_display = "the whole tenant"
    add_fields = ("name", "agent", "reason")
    fields = ()
    change_form_template = "console/audit/checkpoint.html"
    creates = CreateAction(Act.CHECKPOINT_CREATE, _make_checkpoint, add_fields)

    at = moment_column("Moment", "moment")
    maker = person_column("Made by", "created_by")
