"""Home: pending work, what was learned lately, and the main charts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from apps.console.dashboard.daily_counts import DayRange, read_daily_counts
from apps.console.dashboard.date_ranges import DateRanges, RangeChoice
from apps.console.dashboard.morning_brief import (
    BriefSection,
    RefusalCount,
    brief_sections,
    commonest_refusals,
    refusal_counts,
    refused_url,
)
from apps.console.dashboard.pending_work import AGENTS, PendingCounts, PendingQueue
from apps.console.dashboard.spend import PeriodSpend, period_spend
from apps.console.dashboard.statistics_page import HOME_CHARTS, StatisticChart, charts_of_counts
from apps.console.review.inbox_filters import next_to_decide
from apps.governance.actors import Actor
from apps.governance.models import Proposal
from apps.prompt.memory_lines.write_holds import MemoryReview
from apps.tenants.models import TenantSettings

DECISIONS_SHOWN: Final = 8
DAYS_SHOWN: Final = 30
RANGES: Final = DateRanges(
    {"24h": timedelta(days=1), "7d": timedelta(days=7), "30d": timedelta(days=DAYS_SHOWN)},
    {"24h": "24 hours", "7d": "7 days", "30d": "30 days"},
)


@dataclass(frozen=True, slots=True)
class MorningBrief:
    """The summary of what happened since a moment."""

    choices: Sequence[RangeChoice]
    sections: Sequence[BriefSection]
    refused: Sequence[RefusalCount]
    refused_url: str
    spent: PeriodSpend

    @property
    def quiet(self) -> str:
        """One line that names what did not happen."""
        return " ".join(section.topic.quiet for section in self.sections if not section.count)


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything the home page shows."""

    queues: Sequence[PendingQueue]
    decisions: Sequence[Proposal]
    brief: MorningBrief
    figures: Sequence[StatisticChart]
    stand_in_calls: int
    has_agents: bool
    review: MemoryReview


def overview(actor: Actor, waits: PendingCounts, settings: TenantSettings, asked: str, now: datetime) -> Overview:
    """Return the home page of one tenant, read in a constant number of statements."""
    stretch = DayRange.until(now, DAYS_SHOWN, ZoneInfo(settings.timezone))
    since = now - RANGES.lengths[asked]
    found = read_daily_counts(actor, stretch, refusal_counts(actor, since))
    every = charts_of_counts(found, stretch, settings.day_budget_micro_usd)
    return Overview(
        queues=list(waits.queues()),
        decisions=list(next_to_decide(actor).select_related("agent")[:DECISIONS_SHOWN]),
        brief=MorningBrief(
            choices=list(RANGES.choices(asked)),
            sections=brief_sections(actor, since),
            refused=commonest_refusals(found, since),
            refused_url=refused_url(since),
            spent=period_spend(found, stretch, RANGES.lengths[asked].days, settings),
        ),
        figures=[figure for figure in every if figure.name in HOME_CHARTS],
        stand_in_calls=sum(found.part("is_stand_in").values()),
        has_agents=waits.count(AGENTS) > 0,
        review=MemoryReview(settings.memory_review),
    )
