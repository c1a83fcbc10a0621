"""Figures: how conversations, drafts, the cache, the spend and the learning went, day by day, each bar leading to its list."""

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
    ADDED,
    DECIDED,
    RETIRED,
    Counted,
    Stretch,
    changes_of_words,
    counted,
)
from apps.console.dashboard.date_ranges import Ranges
from apps.console.framework.charts import Plot, Point, means, shares, stacks
from apps.console.framework.request_context import actor_of, settings_of
from apps.console.framework.token_usage import dollars
from apps.governance.actors import Actor
from apps.tenants.models import TenantSettings

RANGES: Final = Ranges(
    {"30d": timedelta(days=30), "7d": timedelta(days=7), "90d": timedelta(days=90)},
    {"7d": "7 days", "30d": "30 days", "90d": "90 days"},
)
# What stands at home, small.
AT_HOME: Final = ("resolution", "escalation", "acceptance", "cache")
_THREADS: Final = {"parent__isnull": "True", "origin__exact": "live"}
_SHARE: Final = ("Share", "Of how many")


@dataclass(frozen=True, slots=True)
class Listed:
    """The list in which a day of a figure is to be seen, by a column of time."""

    view: str
    column: str
    narrowed: Mapping[str, str]

    def url(self, stretch: Stretch, day: date) -> str:
        """Narrowed to that day where the tenant is."""
        bounds = [(f"{self.column}__gte", day), (f"{self.column}__lt", day + timedelta(days=1))]
        said = {
            name: str(each if self.column == "day" else stretch.start_of(each).isoformat()) for name, each in bounds
        }
        return f"{reverse(f'admin:{self.view}')}?{urlencode({**self.narrowed, **said})}"


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot with its words: what it says, its pieces from below, the columns of its table, and where each day is listed."""

    name: str
    title: str
    explained: str
    plot: Plot
    listed: Listed
    stretch: Stretch
    columns: tuple[str, ...] = _SHARE
    keys: tuple[str, ...] = ()

    @property
    def days(self) -> Iterator[tuple[Point, str]]:
        """Each day with its list."""
        for point in self.plot.points:
            yield point, self.listed.url(self.stretch, point.day)


def figures(now: datetime, days: int, settings: TenantSettings, actor: Actor) -> list[Figure]:
    """All of them, in two statements."""
    stretch = Stretch.until(now, days, ZoneInfo(settings.timezone))
    found = counted(actor, stretch)
    edits = _figure_of_edits(stretch, means(stretch.days, changes_of_words(actor, stretch)))
    return [*figures_of(found, stretch, settings.day_budget_micro_usd), edits]


def figures_of(found: Counted, stretch: Stretch, budget: int | None) -> list[Figure]:
    """Those that the counts alone tell."""
    of_people = (*_of_drafts(found, stretch), _of_reports(found, stretch))
    return [*_of_conversations(found, stretch), *of_people, *_of_calls(found, stretch, budget)]


def _of_conversations(found: Counted, stretch: Stretch) -> Iterator[Figure]:
    days, began = stretch.days, found.whole("began")
    threads = partial(Listed, "conversations_conversation_changelist", narrowed=_THREADS)
    asked = Listed("desk_escalation_changelist", "created_at", {"tab": "all"})
    resolved = shares(days, found.part("began"), began)
    explained = "Of the conversations that began on a day, those resolved by now."
    yield Figure("resolution", "Resolved", explained, resolved, threads("created_at"), stretch)
    handed = shares(days, found.part("escalated"), began)
    explained = "Conversations in which an agent turned to a person on a day, beside those that began on it."
    yield Figure("escalation", "Escalated", explained, handed, asked, stretch)
    back = shares(days, found.part("reopened"), found.whole("resolved"))
    explained = "Of the conversations resolved on a day, those whose customer came back within seven days."
    yield Figure("reopened", "Reopened within seven days", explained, back, threads("resolved_at"), stretch)


def _of_drafts(found: Counted, stretch: Stretch) -> Iterator[Figure]:
    days, listed = stretch.days, _drafts(",".join(DECIDED))
    sent, edited, discarded = (found.part(status) for status in DECIDED)
    decided = {day: sum(each.get(day, 0) for each in (sent, edited, discarded)) for day in days}
    words = ("Sent unchanged", "Sent as edited", "Discarded")
    explained = "Of the drafts somebody decided on, those that went out as the agent wrote them."
    yield Figure("acceptance", "Drafts sent unchanged", explained, shares(days, sent, decided), listed, stretch)
    plot = stacks(days, (sent, edited, discarded))
    yield Figure("drafts", "Drafts decided on", "What became of them.", plot, listed, stretch, words, words)


def _of_reports(found: Counted, stretch: Stretch) -> Figure:
    days, wrong, every = stretch.days, found.part("reported"), found.whole("reported")
    right = {day: every[day] - wrong.get(day, 0) for day in every}
    words = ("Wrong, or not settled yet", "Found right")
    listed = Listed("desk_report_changelist", "created_at", {"tab": "all"})
    explained = "What people said of replies of agents on a day, and of how many somebody found that nothing was wrong."
    return Figure(
        "reported", "Reported replies", explained, stacks(days, (wrong, right)), listed, stretch, words, words
    )


def _figure_of_edits(stretch: Stretch, plot: Plot) -> Figure:
    explained = (
        "How many of the words people changed in a draft before they sent it; the mean of up to twenty drafts of a day."
    )
    listed = _drafts("sent_edited")
    return Figure(
        "edits", "Changed in edited drafts", explained, plot, listed, stretch, ("Mean share of the words", "Drafts")
    )


def _of_calls(found: Counted, stretch: Stretch, budget: int | None) -> Iterator[Figure]:
    days, spend = stretch.days, Listed("runtime_spend_changelist", "day", {})
    cached = shares(days, found.part("cached"), found.whole("cached"))
    yield Figure(
        "cache", "Read from the cache", "Of the prompt tokens, those read from the cache.", cached, spend, stretch
    )
    cost = stacks(days, (found.part("cost"),), dollars, budget)
    limit = "Nobody has set a budget." if budget is None else f"The line is the budget of a day, {dollars(budget)}."
    yield Figure("spend", "Spend", f"What model calls cost. {limit}", cost, spend, stretch, ("Cost",))
    learned = stacks(days, (found.part("learned"), found.whole("learned")))
    changes = Listed("governance_changerecord_changelist", "created_at", {"act__in": ",".join((*ADDED, *RETIRED))})
    explained = "Skills, rules and learning versions that agents began to go by, and those they go by no more."
    words = ("Added", "Retired")
    yield Figure("learning", "Learning", explained, learned, changes, stretch, words, words)


def _drafts(statuses: str) -> Listed:
    return Listed("desk_draft_changelist", "decided_at", {"tab": "all", "status__in": statuses})


def figures_page(site: AdminSite, request: HttpRequest) -> HttpResponse:
    """All figures of the range that the address names."""
    actor, settings, asked = actor_of(request), settings_of(request), RANGES.asked(request)
    shown: dict[str, Any] = {
        "title": "Figures",
        "choices": list(RANGES.choices(asked)),
        "zone": settings.timezone,
        "figures": figures(timezone.now(), RANGES.lengths[asked].days, settings, actor),
    }
    return TemplateResponse(request, "console/dashboard/statistics.html", {**site.each_context(request), **shown})
