"""The tenant's books: verified at the press of a button, and handed out for some days."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_POST, require_safe
from unfold.widgets import UnfoldAdminTextInputWidget

from apps.console.requests import actor_of, settings_of
from apps.governance.database.actor_transaction import acting
from apps.governance.errors import Conflicting
from apps.tenants.audit_export import FINDINGS_SHOWN, export, refuse_export, verify


class Days(forms.Form):
    """From when to when, both days included, by the tenant's clock."""

    since = forms.DateField(label="From", widget=UnfoldAdminTextInputWidget(attrs={"type": "date"}))
    until = forms.DateField(label="To, that day included", widget=UnfoldAdminTextInputWidget(attrs={"type": "date"}))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", "auto_id": "books_%s", **kwargs})


def this_month() -> Days:
    """The form as a page shows it first."""
    today = timezone.localdate()
    return Days(initial={"since": today.replace(day=1).isoformat(), "until": today.isoformat()})


def books_urls(site: AdminSite) -> list[URLPattern]:
    """Where the books are verified, and where they are fetched."""
    return [
        path("books/verify/", site.admin_view(verify_page), {"site": site}, name="verify_books"),
        path("books/export/", site.admin_view(export_page), name="export_books"),
    ]


@require_POST
def verify_page(request: HttpRequest, site: AdminSite) -> HttpResponse:
    """Read them all, say what was found, and note that it was done. No transaction of the request is open meanwhile."""
    actor = getattr(request, "actor", None)
    if actor is None:
        return HttpResponseRedirect(reverse("admin:switch_tenant"))
    try:
        verified = verify(actor)
    except Conflicting as refusal:
        messages.error(request, str(refusal))
        return _listed()
    if not verified.findings:
        messages.success(request, f"Verified. All {verified.entry_count:,} entries stand as they were written.")
        return _listed()
    with acting(actor), timezone.override(settings_of(request).timezone):
        findings = verified.findings[:FINDINGS_SHOWN]
        shown = {"title": "Verification", "findings": findings, "count": len(verified.findings)}
        return TemplateResponse(request, "console/findings.html", {**site.each_context(request), **shown}).render()


@require_safe
def export_page(request: HttpRequest) -> HttpResponse:
    """One line for each entry, without the words of changes; asked for without days, it leads back to the form."""
    if getattr(request, "actor", None) is None:
        return HttpResponseRedirect(reverse("admin:switch_tenant"))
    actor, form = actor_of(request), Days(request.GET)
    refuse_export(actor)
    if not form.is_valid():
        messages.error(request, "Name both days, such as 2026-11-01.")
        return _listed()
    try:
        exported = export(actor, form.cleaned_data["since"], form.cleaned_data["until"])
    except Conflicting as refusal:
        messages.error(request, str(refusal))
        return _listed()
    headers = {"Content-Disposition": content_disposition_header(as_attachment=True, filename=exported.name)}
    return HttpResponse(exported.text, content_type="application/jsonl", headers=headers)


def _listed() -> HttpResponse:
    return HttpResponseRedirect(reverse("admin:governance_auditcheck_changelist"), status=303)
