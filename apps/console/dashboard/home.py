"""Home: what waits for a person, what was learned lately, and how things go."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from apps.console.dashboard.daily_counts import Stretch, counted
from apps.console.dashboard.date_ranges import Choice, Ranges
from apps.console.dashboard.morning_brief import Refused, Section, refusal_counts, refusals, refused_url, sections
from apps.console.dashboard.pending_work import AGENTS, Awaiting, Queue
from apps.console.dashboard.spend import Spent, spent
from apps.console.dashboard.statistics_page import AT_HOME, Figure, figures_of
from apps.console.review.inbox_filters import next_to_decide
from apps.governance.actors import Actor
from apps.governance.models import Proposal
from apps.prompt.memory_lines.write_holds import MemoryReview
from apps.tenants.models import TenantSettings

DECISIONS_SHOWN: Final = 8
DAYS_SHOWN: Final = 30
RANGES: Final = Ranges(
    {"24h": timedelta(days=1), "7d": timedelta(days=7), "30d": timedelta(days=DAYS_SHOWN)},
    {"24h": "24 hours", "7d": "7 days", "30d": "30 days"},
)


@dataclass(frozen=True, slots=True)
class Brief:
    """What happened since a moment."""

    choices: Sequence[Choice]
    sections: Sequence[Section]
    refused: Sequence[Refused]
    refused_url: str
    spent: Spent

    @property
    def quiet(self) -> str:
        """What did not happen, in one line."""
        return " ".join(section.topic.quiet for section in self.sections if not section.count)


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything the home page shows."""

    queues: Sequence[Queue]
    decisions: Sequence[Proposal]
    brief: Brief
    figures: Sequence[Figure]
    stand_in_calls: int
    has_agents: bool
    review: MemoryReview


def overview(actor: Actor, waits: Awaiting, settings: TenantSettings, asked: str, now: datetime) -> Overview:
    """The home page of one tenant, in a constant number of reads."""
    stretch = Stretch.until(now, DAYS_SHOWN, ZoneInfo(settings.timezone))
    since = now - RANGES.lengths[asked]
    found = counted(actor, stretch, refusal_counts(actor, since))
    every = figures_of(found, stretch, settings.day_budget_micro_usd)
    return Overview(
        queues=list(waits.queues()),
        decisions=list(next_to_decide(actor).select_related("agent")[:DECISIONS_SHOWN]),
        brief=Brief(
            choices=list(RANGES.choices(asked)),
            sections=sections(actor, since),
            refused=refusals(found, since),
            refused_url=refused_url(since),
            spent=spent(found, stretch, RANGES.lengths[asked].days, settings),
        ),
        figures=[figure for figure in every if figure.name in AT_HOME],
        stand_in_calls=sum(found.part("is_stand_in").values()),
        has_agents=waits.count(AGENTS) > 0,
        review=MemoryReview(settings.memory_review),
    )
