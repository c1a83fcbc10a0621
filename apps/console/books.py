"""The tenant's books: verified at the press of a button, and handed out for some days."""

from collections.abc import Iterator
from datetime import datetime, time, timedelta
from itertools import islice
from typing import Any, Final
from zoneinfo import ZoneInfo

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
from apps.governance.acting import acting
from apps.governance.actors import Actor, Role
from apps.governance.audit import Verified
from apps.governance.books import line_of, linked_entries, verify_books
from apps.governance.errors import NotPermitted
from apps.governance.models import AuditLink
from apps.tenants.identity import system_actor

# Some seconds of reading; what is longer is a command's work.
MOST: Final = 50_000
FINDINGS_SHOWN: Final = 100
TOO_LONG_TO_VERIFY: Final = (
    f"The books have more than {MOST:,} entries, which a page does not read. Whoever runs the installation verifies them with:"
    " manage.py verify_audit"
)
TOO_MUCH: Final = f"More than {MOST:,} entries are of these days. Choose fewer days."
ADMINS_ALONE: Final = "Only an admin takes the books out of the house. Ask one in Members."


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
    verified = _verified(actor)
    if verified is None:
        messages.error(request, TOO_LONG_TO_VERIFY)
    elif not verified.findings:
        messages.success(request, f"Verified. All {verified.entry_count:,} entries stand as they were written.")
    if verified is None or not verified.findings:
        return HttpResponseRedirect(reverse("admin:governance_auditcheck_changelist"), status=303)
    with acting(actor), timezone.override(settings_of(request).timezone):
        findings = verified.findings[:FINDINGS_SHOWN]
        shown = {"title": "Verification", "findings": findings, "count": len(verified.findings)}
        return TemplateResponse(request, "console/findings.html", {**site.each_context(request), **shown}).render()


def _verified(actor: Actor) -> Verified | None:
    """What stands in the books; None where there is too much to read."""
    with acting(system_actor(actor.tenant_id)):
        last = AuditLink.objects.filter(tenant_id=actor.tenant_id).order_by("-position").first()
        return None if last and last.position > MOST else verify_books(actor.tenant_id, {})


@require_safe
def export_page(request: HttpRequest) -> HttpResponse:
    """One line for each entry, without the words of changes; asked for without days, it leads back to the form."""
    if getattr(request, "actor", None) is None:
        return HttpResponseRedirect(reverse("admin:switch_tenant"))
    actor, form = actor_of(request), Days(request.GET)
    if actor.role is not Role.ADMIN:
        raise NotPermitted(ADMINS_ALONE)
    with acting(actor):
        settings = settings_of(request)
        lines = list(_lines(actor, form, ZoneInfo(settings.timezone))) if form.is_valid() else None
    if lines is None or len(lines) > MOST:
        messages.error(request, TOO_MUCH if lines else "Name both days, such as 2026-11-01.")
        return HttpResponseRedirect(reverse("admin:governance_auditcheck_changelist"), status=303)
    name = f"books-{settings.tenant.key}-{form.cleaned_data['since']}-{form.cleaned_data['until']}.jsonl"
    headers = {"Content-Disposition": content_disposition_header(as_attachment=True, filename=name)}
    return HttpResponse("".join(f"{line}\n" for line in lines), content_type="application/jsonl", headers=headers)


def _lines(actor: Actor, form: Days, zone: ZoneInfo) -> Iterator[str]:
    since, until = form.cleaned_data["since"], form.cleaned_data["until"] + timedelta(days=1)
    bounds = (datetime.combine(day, time(), zone) for day in (since, until))
    yield from (line_of(linked, None) for linked, _ in islice(linked_entries(actor.tenant_id, *bounds), MOST + 1))
