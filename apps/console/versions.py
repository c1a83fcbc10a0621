"""The versions of a row: any two of them side by side, on a page of their own."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Protocol

from django.contrib.admin.utils import unquote
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path

from apps.console.diffs import FieldDiff, field_diffs
from apps.console.history import SHOWN_CHANGES, all_changes_of, changes_of, in_order
from apps.console.people import People
from apps.console.refusals import status_of
from apps.console.requests import people_of
from apps.console.row_urls import url_of_carried
from apps.console.titles import title_of
from apps.governance.audit.row_history import Version, versions_named
from apps.governance.errors import Erased, GovernanceError
from apps.governance.models import Governed
from apps.restore.plan import RESTORABLE


class NounPages(Protocol):
    """What of a noun's pages these need."""

    model: Any  # Any: Django declares it per subclass
    admin_site: Any  # Any: the same

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """The row, if this member sees it."""

    def url_of(self, row: Model) -> str:
        """The row's page."""


def version_urls(pages: NounPages) -> list[URLPattern]:
    """The addresses of a noun's versions; what is not governed has none."""
    if not issubclass(pages.model, Governed):
        return []
    stem = f"{pages.model._meta.app_label}_{pages.model._meta.model_name}"
    shown = pages.admin_site.admin_view(partial(versions_page, pages))
    return [path("<path:object_id>/versions/", shown, name=f"{stem}_versions")]


def history_of(pages: NounPages, row: Model, people: People) -> dict[str, Any]:
    """What a row's own page shows of its history: the latest versions, and the way to all of them."""
    url = f"{pages.url_of(row).removesuffix('change/')}versions/" if isinstance(row, Governed) else ""
    shown = {"changes": changes_of(row, people), "versions_url": url, "shown_changes": SHOWN_CHANGES}
    return {**shown, "restorable": restorable(row), "carried_url": url_of_carried(row)}


def restorable(row: Model) -> str:
    """How the page to restore by names the row; empty where its noun is not brought back."""
    return f"{row._meta.label_lower}:{row.pk}" if type(row) in RESTORABLE else ""


def versions_page(pages: NounPages, request: HttpRequest, object_id: str) -> HttpResponse:
    """All versions of a row, and with `from` and `to` what differs between those two."""
    row = row_named(pages, request, object_id)
    context = {
        **pages.admin_site.each_context(request),
        "title": f"Versions: {title_of(row)}",
        "opts": pages.model._meta,
        "original": row,
        "heading": title_of(row),
        "row_url": pages.url_of(row),
        "changes": all_changes_of(row, people_of(request)),
        "older": request.GET.get("from", ""),
        "newer": request.GET.get("to", ""),
        "versions_url": request.path,
        "restorable": restorable(row),
    }
    status = 200
    try:
        context |= _compared(row, request.GET, people_of(request))
    except GovernanceError as refusal:
        context["refusal"], status = str(refusal), status_of(refusal)
    return TemplateResponse(request, "console/versions.html", context, status=status)


def row_named(pages: NounPages, request: HttpRequest, object_id: str) -> Any:
    """The row an address names."""
    row = pages.get_object(request, unquote(object_id))
    if row is None:
        raise Http404("There is no such row.")
    return row


def _compared(row: Governed, asked: Mapping[str, Any], people: People) -> dict[str, Any]:
    numbers = [
        asked[name] for name in ("from", "to") if str(asked.get(name, "")).isascii() and asked.get(name, "").isdigit()
    ]
    if len(numbers) < 2:
        return {}
    before, after = versions_named(row, (int(number[:9]) for number in numbers))
    return {
        "before": before,
        "after": after,
        "diffs": diffs_between(row, before, after, people),
        **_labels(before, after),
    }


def _labels(before: Version, after: Version) -> dict[str, str]:
    return {"left": f"Version {before.number}", "right": f"Version {after.number}"}


def diffs_between(row: Governed, before: Version, after: Version, people: People) -> list[FieldDiff]:
    """Field by field in the order of the noun; erased words cannot be compared."""
    for version in (before, after):
        if version.values is None:
            raise Erased(f"The words of version {version.number} were erased. Compare two other versions.")
    kind = row._meta.label_lower
    return field_diffs(in_order(before.values or {}, kind, people), in_order(after.values or {}, kind, people))
