"""Bulk decisions: a preview of the effect on each proposal, the decision on all of them, and the report of the results."""

import re
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlencode

from django import forms
from django.contrib.admin import AdminSite
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminTextareaWidget

from apps.console.framework.actor_names import actor_label
from apps.console.framework.form_errors import status_of
from apps.console.framework.forms import VerbatimTextField
from apps.console.framework.request_context import actor_of, people_of
from apps.console.review.change_excerpts import change_excerpt
from apps.console.review.saved_filters import checked_query
from apps.governance.actors import Actor
from apps.governance.errors import GovernanceError
from apps.governance.models import Proposal
from apps.review.bulk.eligibility import MOST_PROPOSALS, Verb, refuse_ineligible, targets_of
from apps.review.bulk.journal import begin_bulk, wake_bulk_worker
from apps.review.impact_summary import impact_of
from apps.review.models import BulkDecision, BulkItem
from apps.review.proposal_queues import rebase_condition

LATEST_SHOWN: Final = 50
# The number of a proposal, and on the way back the version of it that the page showed.
_ROW_PATTERN: Final = re.compile(r"(\d{1,18})(?:-(\d{1,9}))?", re.ASCII)
NONE_CHOSEN: Final = "Nothing is chosen. Tick rows in the list of proposals first."
TOO_MANY: Final = "At most {most} proposals are decided on in one step. Choose fewer."
NO_LONGER_OPEN: Final = "No proposal of this list is open any more."
# The name of the parameter that holds the query string of a list, to choose all of its rows.
WITHIN: Final = "within"


class BulkApproveForm(forms.Form):
    """Approval, which needs no reason."""


class BulkRejectForm(forms.Form):
    """Rejection of all proposals, with one reason."""

    reason_code = forms.ChoiceField(
        choices=Proposal.Reason.choices,
        label="What is wrong with them",
        widget=forms.RadioSelect(attrs={"class": "pc-chips"}),
    )
    reason = VerbatimTextField(
        label="Why (optional)",
        required=False,
        max_length=2000,
        help_text="Kept with each of them, where its agent reads it.",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
    )


class BulkRebaseForm(forms.Form):
    """Rebase, which needs no reason."""


FORMS_BY_VERB: Mapping[Verb, type[forms.Form]] = MappingProxyType(
    {Verb.APPROVE: BulkApproveForm, Verb.REJECT: BulkRejectForm, Verb.REBASE: BulkRebaseForm}
)


@dataclass(frozen=True, slots=True)
class BulkDecisionRow:
    """One proposal as the inbox shows it, and the reason if it is left out."""

    proposal: Proposal
    consequence: str
    excerpt: SafeString | str
    refusal: str


@dataclass(frozen=True, slots=True)
class BulkItemResult:
    """The result of one item; `proposal` is None if it is not there any more."""

    item: BulkItem
    proposal: Proposal | None


def bulk_decision_urls(site: AdminSite) -> list[URLPattern]:
    """Return the URL patterns of the decision page and of the report."""
    stem = "governance/proposal/together"
    return [
        path(f"{stem}/", site.admin_view(partial(bulk_decision_page, site)), name="bulk_decision"),
        path(f"{stem}/<int:bulk_id>/", site.admin_view(partial(bulk_report_page, site)), name="bulk_decision_report"),
    ]


def bulk_decision_page(site: AdminSite, request: HttpRequest) -> HttpResponse:
    """Preview a decision on the chosen rows, or list past ones if none is named (GET); begin it and wake a worker (POST).

    `row` names rows one by one, and `within` all open rows of a list. The form sends back the rows that the page showed.
    """
    if request.method == "GET" and "verb" not in request.GET:
        return _latest_page(site, request)
    actor, asked = actor_of(request), request.POST if request.method == "POST" else request.GET
    verb = _parse_verb(asked.get("verb", ""))
    chosen, is_cut, refusal = _chosen_rows(site, request, verb)
    form, status = FORMS_BY_VERB[verb](request.POST if request.method == "POST" else None, label_suffix=""), 200
    if request.method == "POST":
        status = 422
        try:
            if form.is_valid():
                return _begin_and_redirect(verb, chosen, form.cleaned_data, actor)
        except GovernanceError as refused:
            refusal, status = str(refused), status_of(refused)
    shown = _preview_context(verb, chosen, actor)
    context = {
        **site.each_context(request),
        "title": f"{verb.label} selected proposals",
        "verb": verb,
        "form": form,
        **shown,
    }
    context |= {"refusal": refusal or shown["refusal"], "most": MOST_PROPOSALS[verb] if is_cut else None}
    return TemplateResponse(request, "console/review/bulk_decision.html", context, status=status)


def _parse_verb(text: str) -> Verb:
    if text not in Verb.values:
        raise Http404("There is no such decision.")
    return Verb(text)


def _parse_chosen_rows(rows: Iterable[str]) -> dict[int, int]:
    """Return the version of each chosen proposal as the form sent it, 0 where it sent none."""
    found = filter(None, map(_ROW_PATTERN.fullmatch, rows))
    return {int(row[1]): int(row[2] or 0) for row in found}


def _chosen_rows(site: AdminSite, request: HttpRequest, verb: Verb) -> tuple[dict[int, int], bool, str]:
    """Return the chosen rows, whether there were more than fit into one decision, and why a list could not be read."""
    within = request.GET.get(WITHIN)
    if request.method != "GET" or within is None:
        return _parse_chosen_rows((request.POST if request.method == "POST" else request.GET).getlist("row")), False, ""
    pages, listing = site.get_model_admin(Proposal), copy(request)
    listing.GET = QueryDict(within)
    try:
        checked_query(pages, listing)
    except GovernanceError as refusal:
        return {}, False, str(refusal)
    listed = pages.get_changelist_instance(listing).queryset.filter(state=Proposal.State.OPEN).order_by("pk")
    most = MOST_PROPOSALS[verb]
    found = list(listed.values_list("pk", "version")[: most + 1])
    return dict(found[:most]), len(found) > most, "" if found else NO_LONGER_OPEN


def _begin_and_redirect(verb: Verb, chosen: Mapping[int, int], values: Mapping[str, str], actor: Actor) -> HttpResponse:
    bulk = begin_bulk(verb, chosen, actor=actor, **values)
    wake_bulk_worker(actor.tenant_id, bulk.pk)
    return HttpResponseRedirect(reverse("admin:bulk_decision_report", args=[bulk.pk]), status=303)


def _preview_context(verb: Verb, chosen: Mapping[int, int], actor: Actor) -> dict[str, Any]:
    """Return the effect on each proposal, or the reason why these cannot be decided in bulk."""
    if not chosen or len(chosen) > MOST_PROPOSALS[verb]:
        return {"refusal": TOO_MANY.format(most=MOST_PROPOSALS[verb]) if chosen else NONE_CHOSEN}
    found = Proposal.objects.visible_to(actor).filter(pk__in=chosen).select_related("agent").order_by("pk")
    proposals: list[Any] = list(found.annotate(needs_rebase=rebase_condition()))
    kinds = sorted({str(proposal.kind) for proposal in proposals})
    if len(kinds) > 1 and verb is Verb.APPROVE:
        return {"refusal": "", "kinds": [_kind_link(verb, kind, proposals) for kind in kinds]}
    targets = {} if verb is Verb.REJECT else targets_of(proposals, actor)
    rows = [
        BulkDecisionRow(
            row,
            impact_of(row),
            change_excerpt(row, needs_rebase=row.needs_rebase),
            _ineligible_reason(row, verb, targets.get(row.pk), actor),
        )
        for row in proposals
    ]
    return {
        "refusal": "",
        "kind": Proposal.Kind(kinds[0]).label if len(kinds) == 1 else "",
        "kind_count": len(kinds),
        "taken": [row for row in rows if not row.refusal],
        "left": [row for row in rows if row.refusal],
        "missing": len(chosen) - len(proposals),
    }


def _kind_link(verb: Verb, kind: str, proposals: Iterable[Proposal]) -> tuple[str, int, str]:
    rows = [row for row in proposals if row.kind == kind]
    query = urlencode([("verb", verb.value), *(("row", row.pk) for row in rows)])
    return Proposal.Kind(kind).label, len(rows), f"?{query}"


def _ineligible_reason(row: Proposal, verb: Verb, target: Any, actor: Actor) -> str:
    try:
        refuse_ineligible(row, verb, target, actor)
    except GovernanceError as refusal:
        return str(refusal)
    return ""


def bulk_report_page(site: AdminSite, request: HttpRequest, bulk_id: int) -> HttpResponse:
    """Show the progress: the items done, refused with their reasons, and waiting."""
    actor = actor_of(request)
    bulk = BulkDecision.objects.filter(tenant_id=actor.tenant_id, pk=bulk_id).first()
    if bulk is None:
        raise Http404("There is no such decision.")
    items = list(bulk.items.all())
    rows = Proposal.objects.visible_to(actor).select_related("agent").in_bulk([item.proposal_id for item in items])
    became = [BulkItemResult(item, rows.get(item.proposal_id)) for item in items]
    context = {
        **site.each_context(request),
        "title": f"{Verb(bulk.verb).label} selected proposals",
        "bulk": bulk,
        "who": people_of(request)[actor_label(bulk.user_id)],
        "count": len(items),
        **{state.value: [each for each in became if each.item.state == state] for state in BulkItem.State},
    }
    context["decided"] = len(items) - len(context["waiting"])
    return TemplateResponse(request, "console/review/bulk_decision_report.html", context)


def _latest_page(site: AdminSite, request: HttpRequest) -> HttpResponse:
    """List the tenant's bulk decisions, the latest first, with the progress of each."""
    of = {state.value: Count("items", filter=Q(items__state=state)) for state in BulkItem.State}
    latest = BulkDecision.objects.filter(tenant_id=actor_of(request).tenant_id).annotate(**of)[:LATEST_SHOWN]
    people = people_of(request)
    rows = [(bulk, people[actor_label(bulk.user_id)]) for bulk in latest]
    context = {**site.each_context(request), "title": "Bulk decisions", "rows": rows}
    return TemplateResponse(request, "console/review/bulk_decisions.html", context)
