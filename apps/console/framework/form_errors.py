"""Refusals as console pages: HTTP status, form field errors, and the row page shown again after a refused POST.

The console translates refusals only here.
"""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib.admin import AdminSite
from django.http import Http404, HttpRequest, HttpResponse

from apps.console.framework.request_context import actor_of
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import GovernanceError, Invalid, NotPermitted, NotVisible
from apps.governance.models.base import Governed
from apps.governance.refusal_log import RefusalSubject, record_refusal

_STATUS_BY_CODE: Mapping[str, int] = {
    "not_permitted": 403,
    "nothing_permitted": 403,
    "not_found": 404,
    "invalid": 422,
    "missing_actor": 403,
}
REFUSAL_LABELS: Mapping[str, str] = {
    "already_rejected": "Rejected before",
    "conflict": "Did not go with what was there",
    "text_erased": "The words were erased",
    "findings_unconfirmed": "What the scanner points at was not confirmed",
    "stopped_by_kill_switch": "Learning is frozen",
    "illegal_transition": "There is no such move",
    "invalid": "Values that cannot be taken",
    "missing_actor": "Nobody answered for it",
    "needs_another_reviewer": "Somebody else has to agree",
    "needs_rebase": "What it would change had changed",
    "not_found": "Not there, or not theirs to see",
    "not_permitted": "Not permitted",
    "nothing_permitted": "Nothing of it permitted",
    "stale_plan": "The plan had changed",
    "queue_full": "Too many proposals waited",
    "refused": "Refused",
    "stale": "It had changed since it was read",
    "too_many_messages": "Too many messages",
    "ungoverned_write": "A write that no act stands behind",
}
NOT_OFFERED = "This page does not offer that to you."


def status_of(refusal: GovernanceError) -> int:
    """Return the HTTP status of a page that shows this refusal; 409 unless the code is listed."""
    return _STATUS_BY_CODE.get(refusal.code, 409)


def refusal_label(code: str) -> str:
    """Return the label of a refusal code, for lists that count refusals."""
    return REFUSAL_LABELS.get(code, code.replace("_", " ").capitalize())


def add_refusal_to_form(form: forms.BaseForm, refusal: GovernanceError) -> None:
    """Put a refusal into a form: at its fields where it names them, above the form otherwise."""
    fields = refusal.fields if isinstance(refusal, Invalid) else {}
    placed = {name: reasons for name, reasons in fields.items() if name in form.fields}
    for name, reasons in placed.items():
        form.add_error(name, list(reasons))
    if not placed:
        form.add_error(None, str(refusal))


def record_refused_request(request: HttpRequest, exception: Exception) -> None:
    """Record a request that a page refused before any action was called. A read that finds nothing is not an attempt."""
    actor, match = getattr(request, "actor", None), request.resolver_match
    if isinstance(exception, GovernanceError):
        refusal = exception
    elif request.method == "POST":
        hidden = isinstance(exception, Http404)
        refusal = NotVisible("There is no such row or decision here.") if hidden else NotPermitted(NOT_OFFERED)
    else:
        return
    # `skills_skill_change`: the page's name begins with its noun.
    app, _, noun = str(match.url_name).rpartition("_")[0].partition("_") if match else ("", "", "")
    row_id = str(match.kwargs.get("object_id", "")) if match else ""
    kind = f"{app}.{noun}" if noun else ""
    if isinstance(actor, Actor):
        record_refusal(refusal, actor, subject=RefusalSubject(kind, int(row_id) if row_id.isdecimal() else None))


def rerender_row_page(
    request: HttpRequest, model: type[Governed], row_id: int, status: int, site: AdminSite
) -> HttpResponse:
    """Show the row's page again after a refused POST; its panels read the posted values from the request."""
    # Django would take a POST for the edit form.
    request.method = "GET"
    page = site.get_model_admin(model)
    with acting_as(actor_of(request)):
        if not page.get_queryset(request).filter(pk=row_id).exists():
            raise Http404(f"There is no such {model._meta.verbose_name}.")
        response: Any = page.changeform_view(request, str(row_id))
        response.render()
    return HttpResponse(response.content, status=status)
