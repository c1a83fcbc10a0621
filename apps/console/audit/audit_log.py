"""Console pages of the audit log: change records, refused attempts, and verification and export of the audit chain.

The admins are read-only. Verification is a button; the export covers the days that an admin names.
"""

from typing import Any

from django import forms
from django.apps import apps
from django.contrib import admin, messages
from django.contrib.admin import AdminSite
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_POST, require_safe
from unfold.widgets import UnfoldAdminTextInputWidget

from apps.console.framework.change_lists import RecentValuesFilter, TabbedList
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import column, moment_column
from apps.console.framework.page_actions import PanelReader
from apps.console.framework.request_context import actor_of, people_of, settings_of
from apps.console.framework.row_titles import title_of
from apps.console.framework.row_urls import url_of_subject
from apps.console.framework.version_history import describe_change
from apps.governance.actors import Actor, Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict
from apps.governance.models import AuditCheck, AuditLink, ChangeRecord, Refusal
from apps.tenants.audit_export import FINDINGS_SHOWN, export_audit_log, refuse_export, verify_tenant_log


class ExportDaysForm(forms.Form):
    """The first and the last day of the export, both included, in the tenant's time zone."""

    since = forms.DateField(label="From", widget=UnfoldAdminTextInputWidget(attrs={"type": "date"}))
    until = forms.DateField(label="To, that day included", widget=UnfoldAdminTextInputWidget(attrs={"type": "date"}))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", "auto_id": "books_%s", **kwargs})


def this_month_form() -> ExportDaysForm:
    """Return the form as the page first shows it: this month up to today."""
    today = timezone.localdate()
    return ExportDaysForm(initial={"since": today.replace(day=1).isoformat(), "until": today.isoformat()})


def audit_chain_urls(site: AdminSite) -> list[URLPattern]:
    """Return the URL patterns that verify and export the audit log."""
    return [
        path("books/verify/", site.admin_view(verify_page), {"site": site}, name="verify_audit_log"),
        path("books/export/", site.admin_view(export_page), name="export_audit_log"),
    ]


@require_POST
def verify_page(request: HttpRequest, site: AdminSite) -> HttpResponse:
    """Verify the whole audit log, show the findings, and record the check. No transaction of the request is open meanwhile."""
    actor = getattr(request, "actor", None)
    if actor is None:
        return HttpResponseRedirect(reverse("admin:switch_tenant"))
    try:
        verified = verify_tenant_log(actor)
    except Conflict as refusal:
        messages.error(request, str(refusal))
        return _redirect_to_checks()
    if not verified.findings:
        messages.success(request, f"Verified. All {verified.entry_count:,} entries are as they were written.")
        return _redirect_to_checks()
    with acting_as(actor), timezone.override(settings_of(request).timezone):
        findings = verified.findings[:FINDINGS_SHOWN]
        shown = {"title": "Verification", "findings": findings, "count": len(verified.findings)}
        return TemplateResponse(
            request, "console/audit/verification_findings.html", {**site.each_context(request), **shown}
        ).render()


@require_safe
def export_page(request: HttpRequest) -> HttpResponse:
    """Return one line per entry, without the texts of changes; a request without days leads back to the form."""
    if getattr(request, "actor", None) is None:
        return HttpResponseRedirect(reverse("admin:switch_tenant"))
    actor, form = actor_of(request), ExportDaysForm(request.GET)
    refuse_export(actor)
    if not form.is_valid():
        messages.error(request, "Name both days, such as 2026-11-01.")
        return _redirect_to_checks()
    try:
        exported = export_audit_log(actor, form.cleaned_data["since"], form.cleaned_data["until"])
    except Conflict as refusal:
        messages.error(request, str(refusal))
        return _redirect_to_checks()
    headers = {"Content-Disposition": content_disposition_header(as_attachment=True, filename=exported.name)}
    return HttpResponse(exported.text, content_type="application/jsonl", headers=headers)


def _redirect_to_checks() -> HttpResponse:
    return HttpResponseRedirect(reverse("admin:governance_auditcheck_changelist"), status=303)


def refusal_panels(refusal: Refusal, request: HttpRequest) -> dict[str, Any]:
    """Return the person who tried, the subject of the attempt, and its entry in the audit chain."""
    return {
        "by": people_of(request)[refusal.actor_label],
        **(_subject_context(refusal, actor_of(request)) if refusal.subject_type else {}),
        "link": audit_link_of(AuditLink.EntryType.REFUSAL, refusal.pk),
    }


def _subject_context(refusal: Refusal, actor: Actor) -> dict[str, Any]:
    """Return the subject of the attempt, with a link if the actor can still read it."""
    model = apps.get_model(refusal.subject_type)
    row = model._default_manager.visible_to(actor).filter(pk=refusal.subject_id).first()
    if row is None:
        return {"subject": f"{model._meta.verbose_name} {refusal.subject_id or ''}".strip()}
    return {"subject": title_of(row), "subject_url": url_of_subject(refusal.subject_type, row.pk)}


def audit_link_of(kind: AuditLink.EntryType, entry_id: int) -> AuditLink | None:
    """An entry's place in the audit chain."""
    return AuditLink.objects.filter(entry_type=kind, entry_id=entry_id).first()


class RefusalAdmin(GovernedAdmin):
    """Read-only: every refused attempt, with its author and the refusal."""

    list_display = ("when", "tried", "author", "actor_role", "code", "detail")
    list_display_links = ("when", "tried")
    list_filter = ("act", ("actor_role", RecentValuesFilter), ("code", RecentValuesFilter))
    search_fields = ("actor_label", "detail")
    search_help_text = "Search actor or answer"
    empty = "Nobody has tried what they may not."
    fields = ()
    change_form_template = "console/audit/refused_attempt.html"
    panels = PanelReader(refusal_panels)

    when = moment_column("When", "created_at", ordering="id")
    author = column("By", lambda row: row.people[row.actor_label])

    @admin.display(description="Tried", ordering="act")
    def tried(self, refusal: Refusal) -> str:
        return refusal.act or "something a page or address does not offer"


def check_panels(check: AuditCheck, request: HttpRequest) -> dict[str, Any]:
    """Return the latest entry of the chain."""
    return {"head": AuditLink.objects.order_by("-position").first()}


class AuditCheckList(TabbedList):
    """The list of verifications, with the export form for admins."""

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        """Return the rows of the list; offer the export form if the reader is an admin."""
        self.days = this_month_form() if actor_of(request).role is Role.ADMIN else None
        rows: QuerySet[Any] = super().get_queryset(request, exclude_parameters)
        return rows


class AuditCheckAdmin(GovernedAdmin):
    """Read-only: every verification of the audit log, with its result."""

    list_display = ("when", "position", "result")
    list_display_links = ("when",)
    list_before_template = "console/audit/verifications_list_header.html"
    changelist = AuditCheckList
    empty = "Nobody has verified the books yet. Verify them above, or daily by: manage.py verify_audit"
    fields = ()
    change_form_template = "console/audit/verification.html"
    panels = PanelReader(check_panels)

    when = moment_column("When", "created_at", ordering="id")

    @admin.display(description="Result", ordering="finding_count")
    def result(self, check: AuditCheck) -> str:
        return f"{check.finding_count} findings" if check.finding_count else "sound"


def change_panels(record: ChangeRecord, request: HttpRequest) -> dict[str, Any]:
    """Return the texts of the change, and the page of its subject."""
    return {
        "shown": describe_change(record, people_of(request)),
        "subject_url": url_of_subject(record.subject_type, record.subject_id),
        "link": audit_link_of(AuditLink.EntryType.CHANGE, record.pk),
    }


class ChangeRecordAdmin(GovernedAdmin):
    """Read-only: every change, with its author, its versions before and after, and its reason."""

    list_display = ("when", "act", "subject", "author", "actor_role", "version_after", "whose_words")
    list_display_links = ("when", "act")
    list_filter = ("act", ("actor_role", RecentValuesFilter), "taint")
    search_fields = ("subject_label", "actor_label")
    search_help_text = "Search subject or actor"
    empty = "Nothing has been changed yet. The first act of a person or an agent appears here."
    change_form_template = "console/audit/change_record.html"
    panels = PanelReader(change_panels)

    when = moment_column("When", "created_at", ordering="id")
    author = column("By", lambda row: row.people[row.actor_label])

    @admin.display(description="On what")
    def subject(self, record: ChangeRecord) -> str:
        return f"{apps.get_model(record.subject_type)._meta.verbose_name} {record.subject_label}"
