"""Version history of a row: its change records with compared texts, and the page that compares any two versions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from django.apps import apps
from django.contrib.admin.utils import unquote
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path

from apps.console.framework.actor_names import ActorNames, actor_label, label_of_agent
from apps.console.framework.form_errors import status_of
from apps.console.framework.line_date_texts import with_readable_dates
from apps.console.framework.request_context import people_of
from apps.console.framework.row_titles import grant_label, title_of
from apps.console.framework.row_urls import exposure_url
from apps.console.framework.text_diffs import FieldDiff, field_diffs
from apps.governance.audit.row_history import RowVersion, numbered_versions, records_of
from apps.governance.errors import GovernanceError, TextErased
from apps.governance.models import ChangeRecord, ChangeText, Governed
from apps.restore.plan import RESTORABLE

SHOWN_CHANGES = 20


@dataclass(frozen=True, slots=True)
class ShownChange:
    """One change as a page shows it."""

    record: ChangeRecord
    by: str
    reason: str
    fields: list[FieldDiff]

    @property
    def number(self) -> str:
        """The version after the change, as addresses name it."""
        return str(self.record.version_after)


def changes_of(row: Model, people: ActorNames) -> list[ShownChange]:
    """The latest changes of a row, the newest first."""
    return list(_describe_changes(records_of(row._meta.label_lower, row.pk)[:SHOWN_CHANGES], people))


def all_changes_of(row: Model, people: ActorNames) -> list[ShownChange]:
    """Every change of a row, the newest first."""
    return list(_describe_changes(records_of(row._meta.label_lower, row.pk), people))


def describe_change(record: ChangeRecord, people: ActorNames) -> ShownChange:
    """Return one record with its texts compared."""
    text: ChangeText | None = getattr(record, "text", None)
    if text is None:
        return ShownChange(record, people[record.actor_label], "The words of this change were erased.", [])
    before, after = (ordered_values(values, record.subject_type, people) for values in (text.before, text.after))
    return ShownChange(record, people[record.actor_label], text.reason, field_diffs(before, after))


def ordered_values(values: Mapping[str, object], subject_type: str, people: ActorNames) -> dict[str, object]:
    """Return the columns in the order of the model's fields with readable values, without the tenant, which is the reader's."""
    known = [field.attname for field in apps.get_model(subject_type)._meta.concrete_fields]
    rank = {name: at for at, name in enumerate(known)}
    names = sorted((name for name in values if name != "tenant_id"), key=lambda name: rank.get(name, len(rank)))
    readable = with_readable_dates(values)
    return {name: _label_value(name, readable[name], people) for name in names}


def _label_value(name: str, value: object, people: ActorNames) -> object:
    """Return names in place of ids of people and agents and codenames of rights."""
    if name == "user_id" and isinstance(value, int):
        return people[actor_label(value)]
    if name == "agent_id" and isinstance(value, int):
        return people[label_of_agent(value)]
    if name.endswith("_by") and isinstance(value, str):
        return people[value] if value else ""
    if name == "agent_ids" and isinstance(value, list):
        return "\n".join(people[label_of_agent(each)] for each in value) or "nowhere"
    return (
        "\n".join(grant_label(each) for each in value) if name == "permissions" and isinstance(value, list) else value
    )


def _describe_changes(records: QuerySet[ChangeRecord], people: ActorNames) -> Iterator[ShownChange]:
    for record in records:
        yield describe_change(record, people)


class NounPages(Protocol):
    """The part of an admin class that these pages need."""

    model: Any  # Any: Django declares it per subclass
    admin_site: Any  # Any: the same

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """The row, if this member sees it."""

    def url_of(self, row: Model) -> str:
        """The row's page."""


def version_urls(pages: NounPages) -> list[URLPattern]:
    """Return the URL patterns of a model's versions; none if it is not governed."""
    if not issubclass(pages.model, Governed):
        return []
    stem = f"{pages.model._meta.app_label}_{pages.model._meta.model_name}"
    shown = pages.admin_site.admin_view(partial(versions_page, pages))
    return [path("<path:object_id>/versions/", shown, name=f"{stem}_versions")]


def history_context(pages: NounPages, row: Model, people: ActorNames) -> dict[str, Any]:
    """Return what a row's page shows of its history: the latest versions, and the address of all of them."""
    url = f"{pages.url_of(row).removesuffix('change/')}versions/" if isinstance(row, Governed) else ""
    shown = {"changes": changes_of(row, people), "versions_url": url, "shown_changes": SHOWN_CHANGES}
    return {**shown, "restorable": restore_key(row), "carried_url": exposure_url(row)}


def restore_key(row: Model) -> str:
    """Return the key by which the restore page names the row; empty if rows of its model cannot be restored."""
    return f"{row._meta.label_lower}:{row.pk}" if type(row) in RESTORABLE else ""


def versions_page(pages: NounPages, request: HttpRequest, object_id: str) -> HttpResponse:
    """Show all versions of a row; with `from` and `to`, also the differences between these two."""
    row = get_row_or_404(pages, request, object_id)
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
        "restorable": restore_key(row),
    }
    status = 200
    try:
        context |= _comparison_context(row, request.GET, people_of(request))
    except GovernanceError as refusal:
        context["refusal"], status = str(refusal), status_of(refusal)
    return TemplateResponse(request, "console/framework/versions.html", context, status=status)


def get_row_or_404(pages: NounPages, request: HttpRequest, object_id: str) -> Any:
    """Return the row that an address names, or raise 404."""
    row = pages.get_object(request, unquote(object_id))
    if row is None:
        raise Http404("There is no such row.")
    return row


def _comparison_context(row: Governed, asked: Mapping[str, Any], people: ActorNames) -> dict[str, Any]:
    numbers = [
        asked[name] for name in ("from", "to") if str(asked.get(name, "")).isascii() and asked.get(name, "").isdigit()
    ]
    if len(numbers) < 2:
        return {}
    before, after = numbered_versions(row, (int(number[:9]) for number in numbers))
    return {
        "before": before,
        "after": after,
        "diffs": diffs_between(row, before, after, people),
        **_labels(before, after),
    }


def _labels(before: RowVersion, after: RowVersion) -> dict[str, str]:
    return {"left": f"Version {before.number}", "right": f"Version {after.number}"}


def diffs_between(row: Governed, before: RowVersion, after: RowVersion, people: ActorNames) -> list[FieldDiff]:
    """Field by field in the order of the noun; erased words cannot be compared."""
    for version in (before, after):
        if version.values is None:
            raise TextErased(f"The words of version {version.number} were erased. Compare two other versions.")
    kind = row._meta.label_lower
    return field_diffs(
        ordered_values(before.values or {}, kind, people), ordered_values(after.values or {}, kind, people)
    )
