"""Lists: divided into tabs, filtered by links that work without JavaScript, with constant work whatever their length."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.contrib.admin import AllValuesFieldListFilter, SimpleListFilter
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ERROR_FLAG, ORDER_VAR
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.dateparse import parse_datetime
from django.utils.formats import date_format
from unfold.views import ChangeList

from apps.console.framework.page_actions import Tab, Tabs
from apps.console.framework.request_context import actor_of
from apps.console.framework.row_counts import COUNT_LIMIT, MAX_PAGES, count_rows

TAB = "tab"
ALL = "all"
PERIOD_LOOKUPS = {"__gte": "from", "__lt": "until"}


@dataclass(frozen=True, slots=True)
class FilterLinks:
    """One filter as the list shows it."""

    title: str
    chosen: str
    choices: tuple[tuple[str, str, bool], ...]


class FixedChoicesFilter(SimpleListFilter):
    """A filter that offers the same choices on every page. A subclass declares them, and filters in `queryset`."""

    offered: ClassVar[Sequence[tuple[str, Any]]]

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(self.offered)


class RecentValuesFilter(AllValuesFieldListFilter):
    """A filter by values that the newest rows have; finding all values would take reading every row."""

    def __init__(
        self, field: Any, request: HttpRequest, params: Any, model: Any, model_admin: Any, field_path: str
    ) -> None:
        super().__init__(field, request, params, model, model_admin, field_path)
        newest = model_admin.get_queryset(request).order_by("-pk").values_list(field.name, flat=True)[:COUNT_LIMIT]
        known = {each for each in (*newest, *(self.lookup_val or ())) if each}
        self.lookup_choices = sorted(known)  # type: ignore[assignment]  # Django but walks through them


@dataclass(frozen=True, slots=True)
class NarrowedPeriod:
    """The period that a link filtered the list to, and the address of the list without it."""

    said: str
    url: str


def order_by_names(order: str, columns: Sequence[Any]) -> str:
    """Return an order by column names instead of numbers, because another release may number the columns differently."""
    return _rename_columns(order, {str(number): str(name) for number, name in enumerate(columns)})


def order_by_numbers(order: str, columns: Sequence[Any]) -> str:
    """Return an order by the column numbers that Django expects; a column that no longer exists orders nothing."""
    return _rename_columns(order, {name: str(number) for number, name in enumerate(map(str, columns))})


def _rename_columns(order: str, names: Mapping[str, str]) -> str:
    renamed = []
    for each in order.split("."):
        sign, word = ("-", each[1:]) if each.startswith("-") else ("", each)
        renamed.append(f"{sign}{names.get(word, word)}")
    return ".".join(renamed)


class TabbedList(ChangeList):
    """A change list that knows which tab it is on."""

    def get_filters_params(self, params: Any = None) -> dict[str, Any]:
        """Drop the tab, which is no look-up of Django's."""
        if any("\x00" in value for values in self.filter_params.values() for value in values):
            # No row holds a NUL, and PostgreSQL refuses to be asked for one.
            raise IncorrectLookupParameters
        lookups: dict[str, Any] = super().get_filters_params(params)
        lookups.pop(TAB, None)
        return lookups

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        """Return the rows of the tab; keep the rows of all tabs, to count the others."""
        if order := self.params.get(ORDER_VAR):
            self.params[ORDER_VAR] = order_by_numbers(order, self.list_display)
        every: QuerySet[Any] = super().get_queryset(request, exclude_parameters)
        self.untabbed = every
        tabs: Tabs | None = self.model_admin.tabs
        self.tab = request.GET.get(TAB, tabs.first if tabs else "") or ALL
        self.is_misread = ERROR_FLAG in request.GET
        if TAB in request.GET and not self.is_tab(self.tab):
            raise IncorrectLookupParameters
        if tabs is None or self.tab not in dict(tabs.choices):
            return every
        narrowed: QuerySet[Any] = every.filter(**{tabs.field: self.tab})
        return narrowed

    def is_tab(self, name: str) -> bool:
        """Return whether the list has this tab; a list without tabs has only the one with all rows."""
        tabs: Tabs | None = self.model_admin.tabs
        return name == ALL or tabs is None or name in dict(tabs.choices)

    def get_results(self, request: HttpRequest) -> None:
        """Count the rows as far as people page, then read the rows of the page."""
        most = max(COUNT_LIMIT, (min(self.page_num, MAX_PAGES) + 1) * self.list_per_page)
        self.tallies = count_rows(actor_of(request), {**self.divided(), ALL: self.untabbed}, most)
        self.queryset.tally = self.tallies.get(self.tab, self.tallies[ALL])
        super().get_results(request)

    def divided(self) -> dict[str, QuerySet[Any]]:
        """Return the rows of each tab."""
        tabs: Tabs | None = self.model_admin.tabs
        return {value: self.untabbed.filter(**{tabs.field: value}) for value, _ in tabs.choices} if tabs else {}

    def tabs(self) -> Iterator[Tab]:
        """Yield every tab with its number of rows."""
        tabs: Tabs | None = self.model_admin.tabs
        if tabs is None:
            return
        for value, label in (*tabs.choices, (ALL, tabs.all_label)):
            url = self.get_query_string({TAB: value}, ["p"])
            yield Tab(label.capitalize(), self.tallies[value], url, value == self.tab)

    @property
    def empty(self) -> str:
        """The text of a list without rows."""
        return str(self.model_admin.empty)

    @property
    def is_narrowed(self) -> bool:
        """Whether there may be rows that the search or a filter left out."""
        return bool(self.query or self.has_active_filters)

    @property
    def period(self) -> NarrowedPeriod | None:
        """The period that a link from another page filtered the list to; None if there is none."""
        bounds = {name: value for name, value in self.params.items() if name.endswith(tuple(PERIOD_LOOKUPS))}
        period_text = " ".join(
            f"{PERIOD_LOOKUPS[name[name.rindex('__') :]]} {_format_bound(value)}" for name, value in bounds.items()
        )
        return NarrowedPeriod(period_text, self.get_query_string(remove=[*bounds, "p"])) if bounds else None

    def filters(self) -> Iterator[FilterLinks]:
        """Yield the filters as links."""
        for spec in self.filter_specs:
            choices = tuple((str(at["display"]), at["query_string"], at["selected"]) for at in spec.choices(self))
            chosen = next((display for display, _, selected in choices if selected), "All")
            yield FilterLinks(str(spec.title), chosen, choices)


def _format_bound(value: str) -> str:
    """Return a bound as people read it: a day, or a moment in the time zone of the link."""
    try:
        at = parse_datetime(value)
    except ValueError:
        return value
    return date_format(at, "j M Y H:i") if at and at.tzinfo else value
