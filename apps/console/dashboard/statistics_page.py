"""Reports: conversations, drafts, cache, spend and learning as daily charts; each bar links to its list."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any, Final
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from apps.console.dashboard.daily_counts import (
    ADDING_ACTS,
    DECIDED_STATUSES,
    RETIRING_ACTS,
    DailyCounts,
    DayRange,
    edit_percents,
    read_daily_counts,
)
from apps.console.dashboard.date_ranges import DateRanges
from apps.console.framework.charts import Plot, Point, mean_plot, share_plot, stacked_plot
from apps.console.framework.request_context import actor_of, settings_of
from apps.console.framework.token_usage import dollars
from apps.governance.actors import Actor
from apps.tenants.models import TenantSettings

RANGES: Final = DateRanges(
    {"30d": timedelta(days=30), "7d": timedelta(days=7), "90d": timedelta(days=90)},
    {"7d": "7 days", "30d": "30 days", "90d": "90 days"},
)
# The charts that the home page shows small.
HOME_CHARTS: Final = ("resolution", "escalation", "acceptance", "cache")
_CONVERSATION_FILTER: Final = {"parent__isnull": "True", "origin__exact": "live"}
_SHARE_COLUMNS: Final = ("Share", "Of how many")


@dataclass(frozen=True, slots=True)
class DayListLink:
    """The list with the rows of one day of a chart, filtered by a time column."""

    view: str
    column: str
    narrowed: Mapping[str, str]

    def url(self, stretch: DayRange, day: date) -> str:
        """Return the address of the list, filtered to that day in the tenant's time zone."""
        bounds = [(f"{self.column}__gte", day), (f"{self.column}__lt", day + timedelta(days=1))]
        filters = {
            name: str(each if self.column == "day" else stretch.start_of(each).isoformat()) for name, each in bounds
        }
        return f"{reverse(f'admin:{self.view}')}?{urlencode({**self.narrowed, **filters})}"


@dataclass(frozen=True, slots=True)
class StatisticChart:
    """A plot with its explanation, the names of its pieces from below, the columns of its table, and the list behind each day."""

    name: str
    title: str
    explained: str
    plot: Plot
    listed: DayListLink
    stretch: DayRange
    columns: tuple[str, ...] = _SHARE_COLUMNS
    keys: tuple[str, ...] = ()

    @property
    def days(self) -> Iterator[tuple[Point, str]]:
        """Yield each day with the address of its list."""
        for point in self.plot.points:
            yield point, self.listed.url(self.stretch, point.day)


def statistic_charts(now: datetime, days: int, settings: TenantSettings, actor: Actor) -> list[StatisticChart]:
    """Return all charts, read in two statements."""
    stretch = DayRange.until(now, days, ZoneInfo(settings.timezone))
    found = read_daily_counts(actor, stretch)
    edits = _edit_chart(stretch, mean_plot(stretch.days, edit_percents(actor, stretch)))
    return [*charts_of_counts(found, stretch, settings.day_budget_micro_usd), edits]


def charts_of_counts(found: DailyCounts, stretch: DayRange, budget: int | None) -> list[StatisticChart]:
    """Return the charts that need only the daily counts."""
    of_people = (*_draft_charts(found, stretch), _report_chart(found, stretch))
    return [*_conversation_charts(found, stretch), *of_people, *_model_call_charts(found, stretch, budget)]


def _conversation_charts(found: DailyCounts, stretch: DayRange) -> Iterator[StatisticChart]:
    days, began = stretch.days, found.whole("began")
    threads = partial(DayListLink, "conversations_conversation_changelist", narrowed=_CONVERSATION_FILTER)
    asked = DayListLink("desk_escalation_changelist", "created_at", {"tab": "all"})
    resolved = share_plot(days, found.part("began"), began)
    explained = "Of the conversations that began on a day, those resolved by now."
    yield StatisticChart("resolution", "Resolved", explained, resolved, threads("created_at"), stretch)
    handed = share_plot(days, found.part("escalated"), began)
    explained = "Conversations in which an agent turned to a person on a day, beside those that began on it."
    yield StatisticChart("escalation", "Escalated", explained, handed, asked, stretch)
    back = share_plot(days, found.part("reopened"), found.whole("resolved"))
    explained = "Of the conversations resolved on a day, those whose customer came back within seven days."
    yield StatisticChart("reopened", "Reopened within seven days", explained, back, threads("resolved_at"), stretch)


def _draft_charts(found: DailyCounts, stretch: DayRange) -> Iterator[StatisticChart]:
    days, listed = stretch.days, _draft_list(",".join(DECIDED_STATUSES))
    sent, edited, discarded = (found.part(status) for status in DECIDED_STATUSES)
    decided = {day: sum(each.get(day, 0) for each in (sent, edited, discarded)) for day in days}
    words = ("Sent unchanged", "Sent as edited", "Discarded")
    explained = "Of the drafts somebody decided on, those that went out as the agent wrote them."
    yield StatisticChart(
        "acceptance", "Drafts sent unchanged", explained, share_plot(days, sent, decided), listed, stretch
    )
    plot = stacked_plot(days, (sent, edited, discarded))
    yield StatisticChart("drafts", "Drafts decided on", "What became of them.", plot, listed, stretch, words, words)


def _report_chart(found: DailyCounts, stretch: DayRange) -> StatisticChart:
    days, wrong, every = stretch.days, found.part("reported"), found.whole("reported")
    right = {day: every[day] - wrong.get(day, 0) for day in every}
    words = ("Wrong, or not settled yet", "Found right")
    listed = DayListLink("desk_report_changelist", "created_at", {"tab": "all"})
    explained = "What people said of replies of agents on a day, and of how many somebody found that nothing was wrong."
    return StatisticChart(
        "reported", "Reported replies", explained, stacked_plot(days, (wrong, right)), listed, stretch, words, words
    )


def _edit_chart(stretch: DayRange, plot: Plot) -> StatisticChart:
    explained = (
        "How many of the words people changed in a draft before they sent it; the mean of up to twenty drafts of a day."
    )
    listed = _draft_list("sent_edited")
    return StatisticChart(
        "edits", "Changed in edited drafts", explained, plot, listed, stretch, ("Mean share of the words", "Drafts")
    )


def _model_call_charts(found: DailyCounts, stretch: DayRange, budget: int | None) -> Iterator[StatisticChart]:
    days, spend = stretch.days, DayListLink("runtime_spend_changelist", "day", {})
    cached = share_plot(days, found.part("cached"), found.whole("cached"))
    yield StatisticChart(
        "cache", "Read from the cache", "Of the prompt tokens, those read from the cache.", cached, spend, stretch
    )
    cost = stacked_plot(days, (found.part("cost"),), dollars, budget)
    limit = "Nobody has set a budget." if budget is None else f"The line is the budget of a day, {dollars(budget)}."
    yield StatisticChart("spend", "Spend", f"What model calls cost. {limit}", cost, spend, stretch, ("Cost",))
    learned = stacked_plot(days, (found.part("learned"), found.whole("learned")))
    changes = DayListLink(
        "governance_changerecord_changelist", "created_at", {"act__in": ",".join((*ADDING_ACTS, *RETIRING_ACTS))}
    )
    explained = "Skills, rules and learning versions that agents began to go by, and those they go by no more."
    words = ("Added", "Retired")
    yield StatisticChart("learning", "Learning", explained, learned, changes, stretch, words, words)


def _draft_list(statuses: str) -> DayListLink:
    return DayListLink("desk_draft_changelist", "decided_at", {"tab": "all", "status__in": statuses})


def charts_page(site: AdminSite, request: HttpRequest) -> HttpResponse:
    """Show all charts for the range that the address names."""
    actor, settings, asked = actor_of(request), settings_of(request), RANGES.asked(request)
    shown: dict[str, Any] = {
        "title": "Figures",
        "choices": list(RANGES.choices(asked)),
        "zone": settings.timezone,
        "figures": statistic_charts(timezone.now(), RANGES.lengths[asked].days, settings, actor),
    }
    return TemplateResponse(request, "console/dashboard/statistics.html", {**site.each_context(request), **shown})
