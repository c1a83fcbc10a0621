"""Refused attempts and verifications of the audit chain, to read."""

from typing import Any

from django.apps import apps
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from apps.console.books import this_month
from apps.console.governed_admin import GovernedAdmin
from apps.console.lists import LatelyFilter, TabbedList
from apps.console.panels import Panels
from apps.console.requests import actor_of, people_of
from apps.console.row_urls import url_of_subject
from apps.console.titles import moment, title_of
from apps.governance.actors import Actor, Role
from apps.governance.models import AuditCheck, AuditLink, Refusal


def refusal_panels(refusal: Refusal, request: HttpRequest) -> dict[str, Any]:
    """Who tried, on what, and where it stands in the audit chain."""
    return {
        "by": people_of(request)[refusal.actor_label],
        **(_subject(refusal, actor_of(request)) if refusal.subject_type else {}),
        "link": link_of(AuditLink.EntryType.REFUSAL, refusal.pk),
    }


def _subject(refusal: Refusal, actor: Actor) -> dict[str, Any]:
    """What it was tried on, if that is still there to be read."""
    model = apps.get_model(refusal.subject_type)
    row = model._default_manager.visible_to(actor).filter(pk=refusal.subject_id).first()
    if row is None:
        return {"subject": f"{model._meta.verbose_name} {refusal.subject_id or ''}".strip()}
    return {"subject": title_of(row), "subject_url": url_of_subject(refusal.subject_type, row.pk)}


def link_of(kind: AuditLink.EntryType, entry_id: int) -> AuditLink | None:
    """An entry's place in the audit chain."""
    return AuditLink.objects.filter(entry_type=kind, entry_id=entry_id).first()


class RefusalAdmin(GovernedAdmin):
    """Read-only: who tried what, and what was answered."""

    list_display = ("when", "tried", "author", "actor_role", "code", "detail")
    list_display_links = ("when", "tried")
    list_filter = ("act", ("actor_role", LatelyFilter), ("code", LatelyFilter))
    search_fields = ("actor_label", "detail")
    search_help_text = "Search actor or answer"
    empty = "Nobody has tried what they may not."
    fields = ()
    change_form_template = "console/refusal.html"
    panels = Panels(refusal_panels)

    @admin.display(description="When", ordering="id")
    def when(self, refusal: Refusal) -> str:
        return moment(refusal.created_at)

    @admin.display(description="Tried", ordering="act")
    def tried(self, refusal: Refusal) -> str:
        return refusal.act or "something a page or address does not offer"

    @admin.display(description="By")
    def author(self, refusal: Any) -> str:
        return str(refusal.people[refusal.actor_label])


def check_panels(check: AuditCheck, request: HttpRequest) -> dict[str, Any]:
    """Where the chain ends today."""
    del request, check
    return {"head": AuditLink.objects.order_by("-position").first()}


class Books(TabbedList):
    """The verifications, with the days that an admin may ask for."""

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        """The rows as everywhere; who reads them says whether they may be taken out."""
        self.days = this_month() if actor_of(request).role is Role.ADMIN else None
        rows: QuerySet[Any] = super().get_queryset(request, exclude_parameters)
        return rows


class AuditCheckAdmin(GovernedAdmin):
    """Read-only: when somebody verified the books, and what came of it."""

    list_display = ("when", "position", "result")
    list_display_links = ("when",)
    list_before_template = "console/books_before.html"
    changelist = Books
    empty = "Nobody has verified the books yet. Verify them above, or daily by: manage.py verify_audit"
    fields = ()
    change_form_template = "console/verification.html"
    panels = Panels(check_panels)

    @admin.display(description="When", ordering="id")
    def when(self, check: AuditCheck) -> str:
        return moment(check.created_at)

    @admin.display(description="Result", ordering="finding_count")
    def result(self, check: AuditCheck) -> str:
        return f"{check.finding_count} findings" if check.finding_count else "sound"
