"""Every governed change of the tenant, to read and to follow."""

from typing import Any

from django.apps import apps
from django.contrib import admin
from django.http import HttpRequest

from apps.console.governed_admin import GovernedAdmin
from apps.console.history import change
from apps.console.lists import LatelyFilter
from apps.console.panels import Panels
from apps.console.refused_attempts import link_of
from apps.console.requests import people_of
from apps.console.row_urls import url_of_subject
from apps.console.titles import moment
from apps.governance.models import AuditLink, ChangeRecord


def change_panels(record: ChangeRecord, request: HttpRequest) -> dict[str, Any]:
    """The words of the change, and the way to what it changed."""
    return {
        "shown": change(record, people_of(request)),
        "subject_url": url_of_subject(record.subject_type, record.subject_id),
        "link": link_of(AuditLink.EntryType.CHANGE, record.pk),
    }


class ChangeRecordAdmin(GovernedAdmin):
    """Read-only: who changed what, from which version to which, and why."""

    list_display = ("when", "act", "subject", "author", "actor_role", "version_after", "whose_words")
    list_display_links = ("when", "act")
    list_filter = ("act", ("actor_role", LatelyFilter), "taint")
    search_fields = ("subject_label", "actor_label")
    search_help_text = "Search subject or actor"
    empty = "Nothing has been changed yet. The first act of a person or an agent appears here."
    change_form_template = "console/change.html"
    panels = Panels(change_panels)

    @admin.display(description="When", ordering="id")
    def when(self, record: ChangeRecord) -> str:
        return moment(record.created_at)

    @admin.display(description="On what")
    def subject(self, record: ChangeRecord) -> str:
        return f"{apps.get_model(record.subject_type)._meta.verbose_name} {record.subject_label}"

    @admin.display(description="By")
    def author(self, record: Any) -> str:
        return str(record.people[record.actor_label])
