"""Home: what waits for a person, what happened lately, and what the model cost."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, QuerySet, Sum
from django.db.models.functions import TruncHour

from apps.console.awaiting import AGENTS, Awaiting, Queue
from apps.console.proposal_queues import next_to_decide
from apps.console.usage import Usage
from apps.console.whose import review_now
from apps.conversations.models import Conversation
from apps.governance.actors import Actor
from apps.governance.models import Proposal
from apps.learning.models import Extraction
from apps.prompt.holding import MemoryReview
from apps.runtime.models import ModelCall

DECISIONS_SHOWN = 8
LATEST_SHOWN = 8
HOURS = 24
BAR_WIDTH = 10


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
class Verdict:
    """How often the learning came to a verdict."""

    value: str
    label: str
    count: int


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything the home page shows."""

    queues: Sequence[Queue]
    decisions: Sequence[Proposal]
    conversations: Sequence[Conversation]
    open_count: int
    verdicts: Sequence[Verdict]
    usage: Usage
    hours: Sequence[Hour]
    has_agents: bool
    review: MemoryReview


def overview(actor: Actor, waits: Awaiting, now: datetime) -> Overview:
    """The home page of one tenant, in a constant number of reads."""
    conversations = Conversation.objects.visible_to(actor).of_customers()
    calls = ModelCall.objects.filter(at__gte=now - timedelta(hours=HOURS))
    return Overview(
        queues=list(waits.queues()),
        decisions=list(next_to_decide(actor).select_related("agent")[:DECISIONS_SHOWN]),
        conversations=list(conversations.select_related("agent", "extraction").order_by("-updated_at")[:LATEST_SHOWN]),
        open_count=conversations.open().count(),
        verdicts=_verdicts(),
        usage=_usage(calls),
        hours=_hours(calls, now),
        has_agents=waits.count(AGENTS) > 0,
        review=review_now(actor),
    )


def _verdicts() -> list[Verdict]:
    rows = Extraction.objects.order_by().values_list("verdict").annotate(count=Count("pk")).order_by("-count")
    return [Verdict(value, Extraction.Verdict(value).label, count) for value, count in rows]


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
