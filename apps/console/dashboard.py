"""Home: what waits for a person, what happened lately, and what the model cost."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, QuerySet, Sum
from django.db.models.functions import TruncHour

from apps.console.awaiting import AGENTS, Awaiting, Queue
from apps.console.brief import Refused, Section, refusals, refused_url, sections
from apps.console.proposal_queues import next_to_decide
from apps.console.ranges import Choice, Ranges
from apps.console.spend import Spent, spent
from apps.console.usage import Usage
from apps.governance.actors import Actor
from apps.governance.models import Proposal
from apps.prompt.holding import MemoryReview
from apps.runtime.models import ModelCall
from apps.tenants.models import TenantSettings

DECISIONS_SHOWN = 8
HOURS = 24
BAR_WIDTH = 10


RANGES = Ranges(
    {"24h": timedelta(days=1), "7d": timedelta(days=7), "30d": timedelta(days=30)},
    {"24h": "24 hours", "7d": "7 days", "30d": "30 days"},
)


@dataclass(frozen=True, slots=True)
class Hour:
    """The prompt tokens of one hour as a bar of the chart; heights are in percent of the busiest hour."""

    at: datetime
    x: int
    cached_tokens: int
    other_tokens: int
    cached_height: int
    other_height: int

    @property
    def cached_y(self) -> int:
        return 100 - self.cached_height

    @property
    def other_y(self) -> int:
        return self.cached_y - self.other_height


@dataclass(frozen=True, slots=True)
class Brief:
    """What happened since a moment."""

    choices: Sequence[Choice]
    since: datetime
    sections: Sequence[Section]
    refused: Sequence[Refused]
    refused_url: str
    spent: Spent

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to tell."""
        return not (self.refused or any(section.count for section in self.sections))

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
    usage: Usage
    hours: Sequence[Hour]
    has_agents: bool
    review: MemoryReview


def overview(actor: Actor, waits: Awaiting, asked: str, now: datetime) -> Overview:
    """The home page of one tenant, in a constant number of reads."""
    settings = TenantSettings.objects.visible_to(actor).get()
    calls = ModelCall.objects.filter(at__gte=now - timedelta(hours=HOURS))
    return Overview(
        queues=list(waits.queues()),
        decisions=list(next_to_decide(actor).select_related("agent")[:DECISIONS_SHOWN]),
        brief=_brief(actor, settings, asked, now),
        usage=_usage(calls),
        hours=_hours(calls, now),
        has_agents=waits.count(AGENTS) > 0,
        review=MemoryReview(settings.memory_review),
    )


def _brief(actor: Actor, settings: TenantSettings, asked: str, now: datetime) -> Brief:
    since = now - RANGES.lengths[asked]
    return Brief(
        list(RANGES.choices(asked)),
        since,
        sections(actor, since),
        refusals(actor, since),
        refused_url(since),
        spent(settings, RANGES.lengths[asked].days, now),
    )


def _usage(calls: QuerySet[ModelCall]) -> Usage:
    sums = calls.aggregate(
        calls=Count("pk"),
        fresh=Sum("input_tokens", default=0),
        read=Sum("cache_read_tokens", default=0),
        written=Sum("cache_write_5m_tokens", default=0) + Sum("cache_write_1h_tokens", default=0),
        output=Sum("output_tokens", default=0),
        cost=Sum("cost_micro_usd", default=0),
        priced=Count("cost_micro_usd"),
    )
    stand_in = calls.filter(stand_in=True).count()
    return Usage(
        calls=sums["calls"],
        fresh_tokens=sums["fresh"],
        cache_read_tokens=sums["read"],
        cache_write_tokens=sums["written"],
        output_tokens=sums["output"],
        cost_micro_usd=sums["cost"],
        unpriced=sums["calls"] - sums["priced"],
        stand_in=stand_in,
    )


def _hours(calls: QuerySet[ModelCall], now: datetime) -> list[Hour]:
    rows = (
        calls.order_by()
        .annotate(hour=TruncHour("at"))
        .values_list("hour")
        .annotate(
            read=Sum("cache_read_tokens"),
            other=Sum("input_tokens") + Sum("cache_write_5m_tokens") + Sum("cache_write_1h_tokens"),
        )
    )
    return _bars({hour: (read, other) for hour, read, other in rows}, now)


def _bars(by_hour: dict[datetime, tuple[int, int]], now: datetime) -> list[Hour]:
    latest = now.replace(minute=0, second=0, microsecond=0)
    hours = [latest - timedelta(hours=ago) for ago in reversed(range(HOURS))]
    most = _most(by_hour.values())
    return [
        Hour(hour, at * BAR_WIDTH, read, other, round(100 * read / most), round(100 * other / most))
        for at, hour in enumerate(hours)
        for read, other in [by_hour.get(hour, (0, 0))]
    ]


def _most(tokens: Iterable[tuple[int, int]]) -> int:
    return max((read + other for read, other in tokens), default=0) or 1
