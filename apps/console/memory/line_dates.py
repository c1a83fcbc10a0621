"""Dates of a line of memory: its expiry and its next review, set by one form on the pages of memory, blocks and customers."""

from collections.abc import Callable
from datetime import date, datetime, time
from typing import Any

from django import forms
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from unfold.widgets import UnfoldAdminTextInputWidget

from apps.console.framework.change_lists import FixedChoicesFilter
from apps.console.framework.forms import DecisionForm, VerbatimTextField
from apps.console.framework.page_actions import Button
from apps.governance.actors import Actor
from apps.governance.policy.policy_table import Act
from apps.memory.line_dates import due_line_filters
from apps.memory.line_ledger import RememberedText
from apps.memory.models import CustomerProfile, ProfileLine
from apps.prompt.memory_lines.line_expiry import LineDates, parse_day_end
from apps.tenants.tenant_clock import zone_of

DatedRow = RememberedText | CustomerProfile


def _day_field(label: str, help_text: str) -> forms.DateField:
    return forms.DateField(
        required=False, label=label, help_text=help_text, widget=UnfoldAdminTextInputWidget(attrs={"type": "date"})
    )


class LineDatesForm(DecisionForm):
    """A line exactly as it is in the text, and its dates."""

    line = VerbatimTextField(label="The line", help_text="Exactly as it stands.", widget=UnfoldAdminTextInputWidget)
    last_day = _day_field(
        "Last day", "The last day on which it holds; later sessions do not carry it. Empty: it holds for good."
    )
    review_day = _day_field("Look at it again on", "From that day on it is listed under Lines of memory, To look at.")


class ProfileLineDatesForm(LineDatesForm):
    """The form for a line of a customer's profile."""

    review_day = _day_field(
        "Look at it again on", "From that day on the customer is listed under Customers, To look at."
    )


def line_dates_button(act: Act, action: Callable[..., DatedRow], form: type[LineDatesForm] = LineDatesForm) -> Button:
    """Return the button that sets the dates of a line."""

    def set_dates(
        row: Any, *, actor: Actor, line: str, last_day: date | None, review_day: date | None, read_at: int
    ) -> DatedRow:
        zone = zone_of(actor)
        dates = LineDates(
            parse_day_end(last_day.isoformat(), zone) if last_day else None,
            datetime.combine(review_day, time(), zone) if review_day else None,
        )
        return action(row, actor=actor, line=line, dates=dates, read_at=read_at)

    return Button(
        "date",
        "Say until when a line holds",
        act,
        set_dates,
        done="Saved. Sessions already open keep what they started with.",
        form=form,
    )


class DueFilter(FixedChoicesFilter):
    """Filter by lines that are due for review or have expired."""

    title = "dates"
    parameter_name = "due"

    offered = (("review", "To look at"), ("expired", "Holds no more"))

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the current lines whose date has come."""
        is_due = due_line_filters(timezone.now()).get(self.value() or "")
        return queryset if is_due is None else queryset.filter(is_due)


class DueNotesFilter(DueFilter):
    """Filter customers by lines of their profile that are due for review or have expired."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the customers with a current line whose date has come."""
        is_due = due_line_filters(timezone.now()).get(self.value() or "")
        if is_due is None:
            return queryset
        lines = ProfileLine.objects.filter(tenant_id=OuterRef("tenant_id"), profile_id=OuterRef("pk"))
        return queryset.filter(Exists(lines.filter(is_due)))
