"""Daily counts for the reports, read in one statement that is bounded by the range and uses indexed columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any, Final
from zoneinfo import ZoneInfo

from django.db.models import Count, F, IntegerField, Q, QuerySet, Sum, Value, Window
from django.db.models.expressions import RawSQL
from django.db.models.functions import RowNumber, TruncDate

from apps.console.framework.charts import changed_words_percent, days_until
from apps.conversations.models import Conversation
from apps.desk.models import Draft, Escalation
from apps.desk.reports.models import Report
from apps.governance.actors import Actor
from apps.governance.database.sql_files import by_position, load_query
from apps.governance.models import ChangeRecord
from apps.governance.policy.policy_table import Act
from apps.runtime.models import ModelCall, Spend

# At most so many edited drafts of a day are compared word by word; more would hardly change the mean.
EDITS_COMPARED: Final = 20
DECIDED_STATUSES: Final = (Draft.Status.SENT.value, Draft.Status.SENT_EDITED.value, Draft.Status.DISCARDED.value)
ADDING_ACTS: Final = (
    *(Act.SKILL_APPROVE.value, Act.SKILL_RELEASE.value, Act.RULE_ADD.value, Act.RULE_RESTORE.value),
    *(Act.LEARNING_VERSION_APPLY.value, Act.LEARNING_VERSION_ACTIVATE.value, Act.LEARNING_VERSION_RESTORE.value),
)
RETIRING_ACTS: Final = (
    *(Act.SKILL_DEPRECATE.value, Act.SKILL_QUARANTINE.value, Act.RULE_RETIRE.value),
    *(Act.LEARNING_VERSION_RETIRE.value, Act.LEARNING_VERSION_WITHDRAW.value),
)
_ZERO: Final = Value(0, output_field=IntegerField())
_FIND_REPEAT_CONTACTS: Final = load_query("apps/console/dashboard/queries/find_repeat_contacts.sql")


@dataclass(frozen=True, slots=True)
class DayRange:
    """Consecutive days in a tenant's time zone, up to today."""

    days: tuple[date, ...]
    zone: ZoneInfo

    @classmethod
    def until(cls, now: datetime, count: int, zone: ZoneInfo) -> "DayRange":
        """Return the latest `count` days, today included."""
        return cls(tuple(days_until(now.astimezone(zone).date(), count)), zone)

    @property
    def begins(self) -> datetime:
        """The moment at which the first day began."""
        return self.start_of(self.days[0])

    def start_of(self, day: date) -> datetime:
        """Return midnight of a day in the tenant's time zone."""
        return datetime.combine(day, time(), self.zone)


@dataclass(frozen=True, slots=True)
class DailyCounts:
    """Two numbers per name and day: a part and its whole."""

    parts: Mapping[str, Mapping[date, int]]
    wholes: Mapping[str, Mapping[date, int]]

    def part(self, name: str) -> Mapping[date, int]:
        return self.parts.get(name, {})

    def whole(self, name: str) -> Mapping[date, int]:
        return self.wholes.get(name, {})


def read_daily_counts(actor: Actor, stretch: DayRange, *beside: QuerySet[Any, Any]) -> DailyCounts:
    """Read everything that the charts need in one statement; `beside` are further counts to include in it."""
    first, *others = (
        *_conversation_counts(actor, stretch),
        *_decision_counts(actor, stretch),
        *_model_call_counts(actor, stretch),
        *beside,
    )
    parts: dict[str, dict[date, int]] = {}
    wholes: dict[str, dict[date, int]] = {}
    for name, day, part, whole in first.union(*others, all=True):
        parts.setdefault(name, {})[day], wholes.setdefault(name, {})[day] = int(part), int(whole)
    return DailyCounts(parts, wholes)


def edit_percents(actor: Actor, stretch: DayRange) -> dict[date, list[int]]:
    """Return how much people changed in the drafts they edited, in percent, for the latest few drafts of each day."""
    edited = Draft.objects.visible_to(actor).filter(status=Draft.Status.SENT_EDITED, decided_at__gte=stretch.begins)
    day = TruncDate("decided_at", tzinfo=stretch.zone)
    place = Window(RowNumber(), partition_by=day, order_by=F("decided_at").desc())
    latest = edited.order_by().annotate(on_day=day, place=place).filter(place__lte=EDITS_COMPARED)
    found: dict[date, list[int]] = {}
    for on_day, text, sent in latest.values_list("on_day", "text", "sent_text"):
        found.setdefault(on_day, []).append(changed_words_percent(text, sent))
    return found


def _conversation_counts(actor: Actor, stretch: DayRange) -> tuple[QuerySet[Any, Any], ...]:
    """Count conversations by the day they began, with their outcome, and by the day they were resolved, with those reopened."""
    threads = Conversation.objects.visible_to(actor).of_customers().filter(parent=None, origin=Conversation.Origin.LIVE)
    resolved = Q(status=Conversation.Status.RESOLVED)
    repeat_contacts = by_position(_FIND_REPEAT_CONTACTS, {"tenant": actor.tenant_id, "since": stretch.begins})
    taken_up = RawSQL(*repeat_contacts)  # noqa: S611  # a query file
    back = threads.filter(status=Conversation.Status.RESOLVED, pk__in=taken_up)
    asked = Escalation.objects.visible_to(actor)
    return (
        _count_by_day("began", threads, "created_at", stretch, Count("pk", filter=resolved), Count("pk")),
        _count_by_day("escalated", asked, "created_at", stretch, Count("conversation", distinct=True), _ZERO),
        _count_by_day("resolved", threads, "resolved_at", stretch, _ZERO, Count("pk")),
        _count_by_day("reopened", back, "resolved_at", stretch, Count("pk"), _ZERO),
    )


def _decision_counts(actor: Actor, stretch: DayRange) -> tuple[QuerySet[Any, Any], ...]:
    drafts = Draft.objects.visible_to(actor).filter(status__in=DECIDED_STATUSES)
    learned = ChangeRecord.objects.filter(tenant_id=actor.tenant_id, act__in=[*ADDING_ACTS, *RETIRING_ACTS])
    added, retired = (Count("pk", filter=Q(act__in=acts)) for acts in (ADDING_ACTS, RETIRING_ACTS))
    reports = Report.objects.visible_to(actor).exclude(status=Report.Status.WITHDRAWN)
    wrong = Count("pk", filter=~Q(outcome=Report.Outcome.NOTHING_WRONG))
    reported = _count_by_day("reported", reports, "created_at", stretch, wrong, Count("pk"))
    by_status = (
        _count_by_day(each, drafts.filter(status=each), "decided_at", stretch, Count("pk"), _ZERO)
        for each in DECIDED_STATUSES
    )
    return (*by_status, reported, _count_by_day("learned", learned, "created_at", stretch, added, retired))


def _model_call_counts(actor: Actor, stretch: DayRange) -> tuple[QuerySet[Any, Any], ...]:
    spend = Spend.objects.filter(tenant_id=actor.tenant_id, day__gte=stretch.days[0]).order_by()
    written = Sum("cache_write_5m_tokens") + Sum("cache_write_1h_tokens")
    prompts = Sum("input_tokens") + Sum("cache_read_tokens") + written
    of_day = spend.values(on_day=F("day"))
    lately = ModelCall.objects.filter(tenant_id=actor.tenant_id, is_stand_in=True)
    today = DayRange(stretch.days[-1:], stretch.zone)
    return (
        _name_counts("cached", of_day, Sum("cache_read_tokens"), prompts),
        _name_counts(
            "cost",
            of_day,
            Sum("cost_micro_usd") + Sum("learning_cost_micro_usd"),
            Sum("calls") + Sum("learning_calls"),
        ),
        _count_by_day("is_stand_in", lately, "created_at", today, Count("pk"), _ZERO),
    )


def _count_by_day(
    name: str, rows: QuerySet[Any], column: str, stretch: DayRange, part: Any, whole: Any
) -> QuerySet[Any, Any]:
    within = rows.filter(**{f"{column}__gte": stretch.begins}).order_by()
    return _name_counts(name, within.values(on_day=TruncDate(column, tzinfo=stretch.zone)), part, whole)


def _name_counts(name: str, by_day: QuerySet[Any, Any], part: Any, whole: Any) -> QuerySet[Any, Any]:
    named: QuerySet[Any, Any] = by_day.annotate(part=part, whole=whole, name=Value(name))
    return named.values_list("name", "on_day", "part", "whole")
