"""Worklists: lists in which people decide on waiting rows one after the other."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.admin.views.main import PAGE_VAR
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse

from apps.console.framework.change_lists import TabbedList
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.page_actions import Button, ButtonForm, RefusedDecision
from apps.console.framework.request_context import people_of

# Extra fields of a form in a list: the list's filters, and the next row.
LIST_QUERY_FIELD, NEXT_ROW_FIELD = "listed", "following"


@dataclass(frozen=True, slots=True)
class WorklistRow:
    """A row of the list, with the forms to decide on it."""

    row: Any
    decisions: Sequence[ButtonForm]
    kept: Mapping[str, str]


class Worklist(TabbedList):
    """A list whose first tab holds the rows to work through."""

    worked: Sequence[WorklistRow] = ()

    @property
    def is_worked(self) -> bool:
        """Whether the list shows the waiting rows."""
        return bool(self.tab == self.model_admin.tabs.first)

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        """Return the rows; those that wait are sorted by age, the oldest first."""
        rows: QuerySet[Any] = self.model_admin.with_more(super().get_queryset(request, exclude_parameters))
        return rows.order_by("pk") if self.is_worked else rows

    @property
    def address(self) -> str:
        """The query string of the list, with its filters and its page."""
        page = {PAGE_VAR: self.page_num} if self.page_num > 1 else {}
        return str(self.get_query_string(page)).removeprefix("?")


class WorklistAdmin(GovernedAdmin):
    """Pages of a noun whose waiting rows show their forms in the list.

    Each form is a plain POST to the same address as on the row's page; only the redirect afterwards differs.
    """

    # The template that shows what there is to decide about a row.
    row_template: ClassVar[str]

    changelist = Worklist
    change_list_template = "console/framework/worklist.html"
    list_after_template = "console/framework/worklist_rows.html"
    list_per_page = 25

    @staticmethod
    def with_more(rows: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows with what the list shows besides their own columns."""
        return rows

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        response = super().changelist_view(request, extra_context)
        listed = (getattr(response, "context_data", None) or {}).get("cl")
        if listed and listed.is_worked:
            listed.worked = list(self._worklist_rows(request, listed))
        return response

    def _worklist_rows(self, request: HttpRequest, listed: Worklist) -> Iterator[WorklistRow]:
        rows = list(listed.result_list)
        refused: RefusedDecision | None = getattr(request, "refused_decision", None)
        if refused and refused.row_id not in {row.pk for row in rows}:
            # Somebody else settled the row meanwhile; it is shown once more with what was typed.
            rows = [*self.with_more(self.get_queryset(request)).filter(pk=refused.row_id), *rows]
        for row, following in zip_longest(rows, rows[1:]):
            row.people = people_of(request)
            kept = {LIST_QUERY_FIELD: listed.address, NEXT_ROW_FIELD: str(following.pk) if following else ""}
            yield WorklistRow(row, [_fold_row_form(shown, row) for shown in self._button_forms(request, row)], kept)

    def _respond_to_decision(self, request: HttpRequest, row: Any, button: Button, made: Any) -> HttpResponse:
        if LIST_QUERY_FIELD not in request.POST:
            return super()._respond_to_decision(request, row, button, made)
        messages.success(request, button.said(made))
        query, following = QueryDict(request.POST[LIST_QUERY_FIELD], mutable=True), request.POST.get(NEXT_ROW_FIELD, "")
        place = f"#row-{following}" if following.isdecimal() else ""
        if not place:
            # The last of its page: the page may be gone with it.
            query.pop(PAGE_VAR, None)
        address, asked = reverse(f"admin:{self._url_stem()}_changelist"), query.urlencode()
        return HttpResponseRedirect(f"{address}{'?' if asked else ''}{asked}{place}", status=303)

    def _show_refused_decision(
        self, request: HttpRequest, row: Any, refused: RefusedDecision, status: int
    ) -> HttpResponse:
        if LIST_QUERY_FIELD not in request.POST:
            return super()._show_refused_decision(request, row, refused, status)
        request.method, request.GET = "GET", QueryDict(request.POST[LIST_QUERY_FIELD])
        request.refused_decision = refused  # type: ignore[attr-defined]  # read by _button_forms
        response = self.changelist_view(request)
        response.status_code = status
        return response


def _fold_row_form(shown: ButtonForm, row: Any) -> ButtonForm:
    """Prepare a form for the list: folded if it asks for anything, and its field ids name the row."""
    shown.form.auto_id = f"{shown.button.name}_{row.pk}_%s"
    return replace(shown, button=replace(shown.button, folded=bool(shown.form.visible_fields())))
