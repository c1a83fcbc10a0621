"""Console health page: workers, scheduled jobs, waiting work with its age, stuck turns, and webhooks that were given up.

For each scheduled job the page shows its interval, its last run, and in words what is overdue.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib.admin import AdminSite
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.timesince import timesince

from apps.console.conversations.stuck_turns import STUCK_LABELS, STUCK_PARAMETER
from apps.console.dashboard.pending_work import pending_counts
from apps.console.framework.request_context import actor_of, settings_of
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.notifications.models import EmailNotification
from apps.runtime.health.beat_monitor import BeatEntry, beat_entries
from apps.runtime.health.worker_ping import WorkerPing, ping_workers
from apps.runtime.models import Turn
from apps.tenants.due_work import WaitingWork, waiting_work
from apps.webhooks.models import Delivery, Webhook

# Titles of the scheduled jobs, for people who read the page.
JOB_TITLES: Final[Mapping[str, str]] = {
    "apps.api.tasks.sweep_answers": "Forget old answers of the API",
    "apps.learning.tasks.sweep": "Learn from resolved conversations",
    "apps.learning.tasks.sweep_days": "Reflect on the day",
    "apps.learning.tasks.sweep_digests": "Digest lessons",
    "apps.learning.tasks.sweep_distillation": "Distil memory",
    "apps.learning.tasks.sweep_lessons": "Learn from decisions",
    "apps.notebook.tasks.sweep": "Drop scratch notes nobody touched",
    "apps.notifications.tasks.sweep": "Tell people by e-mail",
    "apps.notifications.tasks.sweep_review_webhooks": "Tell webhooks of reviews",
    "apps.review.tasks.sweep": "Close proposals that ran out of time",
    "apps.review.tasks.sweep_bulk": "Go on with decisions taken together",
    "apps.runtime.tasks.sweep_contradictions": "Look for contradictions",
    "apps.runtime.tasks.sweep_listings": "Ask tool servers for their tools",
    "apps.runtime.tasks.sweep_paused_delegations": "Tell who asked a paused agent",
    "apps.skills.tasks.sweep": "Remove what uploads left behind",
}
_UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
NO_BEAT: Final = (
    "The beat was never started, so nothing is swept: what a lost message should have woken waits. Start one beat."
)
BEAT_SILENT: Final = (
    "The beat wakes nobody any more, or no worker takes what it sends: every sweep is overdue. See that beat, broker and a"
    " worker run."
)


@dataclass(frozen=True, slots=True)
class ScheduledJobRow:
    """A scheduled job as the page shows it; `state` is in words, so that nothing depends on a colour."""

    title: str
    every: str
    last_run_at: datetime | None
    is_late: bool
    state: str


def scheduled_job_rows(found: list[BeatEntry], now: datetime) -> list[ScheduledJobRow]:
    """Return the jobs, the overdue ones first, then by title."""
    job_rows = (_job_row(each, now) for each in found)
    return sorted(job_rows, key=lambda alarm: (not alarm.is_late, alarm.title))


def _job_row(alarm: BeatEntry, now: datetime) -> ScheduledJobRow:
    title = JOB_TITLES.get(alarm.task, alarm.task)
    return ScheduledJobRow(
        title, interval_text(alarm.every), alarm.last_run_at, alarm.is_late(now), _job_state(alarm, now)
    )


def _job_state(alarm: BeatEntry, now: datetime) -> str:
    if alarm.registered_at is None:
        return "never: no beat was started with it"
    overdue = alarm.overdue(now)
    if alarm.is_late(now) and overdue:
        return f"overdue for {timesince(now - overdue, now, depth=1)}"
    return "in time" if alarm.last_run_at else "in time: waits for its first turn"


def interval_text(every: timedelta) -> str:
    """Return an interval in the largest unit that divides it, such as "every 5 minutes" for 300 seconds."""
    seconds = every.total_seconds()
    unit, name = next(((size, name) for size, name in _UNITS if seconds >= size and seconds % size == 0), (1, "second"))
    count = seconds / unit
    return f"every {name}" if count == 1 else f"every {count:g} {name}s"


def job_warnings(alarms: list[BeatEntry], job_rows: list[ScheduledJobRow]) -> Iterator[str]:
    """Yield a sentence for each problem with the scheduled jobs."""
    late = [alarm.title for alarm in job_rows if alarm.is_late]
    if alarms and all(alarm.registered_at is None for alarm in alarms):
        yield NO_BEAT
    elif late and len(late) == len(alarms):
        yield BEAT_SILENT
    elif late:
        yield f"Overdue by the beat: {'; '.join(late)}."


EMAIL_PERIOD: Final = timedelta(days=7)
NOTHING_LOST: Final = "What waits is kept in the database; nothing is lost."
_SOON: Final = timedelta(minutes=5)
_HOURLY: Final = timedelta(hours=3)
# Each kind of work, and the age after which it counts as late; None where the age says nothing about the workers.
WORK_KINDS: Final[Mapping[str, tuple[str, timedelta | None]]] = {
    "turns": ("Messages to answer, and turns to go on with", timedelta(minutes=1)),
    "paused_delegations": ("Questions put to a paused agent", _SOON),
    "schedule_runs": ("Schedules that came due", _SOON),
    "webhook_deliveries": ("Deliveries to webhooks", _SOON),
    "review_webhooks": ("Webhooks to be told of a review", _SOON),
    "notifications": ("E-mails to people", timedelta(minutes=15)),
    "extractions": ("Conversations to learn from", timedelta(minutes=15)),
    "lesson_captures": ("Decisions to learn from", _SOON),
    "digests": ("Lessons to digest", None),
    "reflections": ("Days to reflect on", timedelta(minutes=30)),
    "distillations": ("Memory to distil", timedelta(minutes=30)),
    "contradiction_scans": ("Nightly looks for contradictions", None),
    "off_the_record_erasures": ("Conversations off the record to forget", timedelta(minutes=30)),
    "bulk_decisions": ("Bulk decisions on proposals", _SOON),
    "proposal_expiries": ("Proposals that ran out of time", _HOURLY),
    "tool_listings": ("Tool servers to ask for their tools", timedelta(minutes=15)),
    "scratch_notes": ("Notes nobody touched for long", _HOURLY),
    "idempotency_records": ("Answers of the API that were kept long enough", _HOURLY),
}


@dataclass(frozen=True, slots=True)
class WorkRow:
    """A kind of work as the page shows it."""

    title: str
    waiting: WaitingWork
    is_late: bool


@dataclass(frozen=True, slots=True)
class StuckTurns:
    """Turns that are stuck for one reason, and the list of their conversations."""

    title: str
    count: int
    oldest: datetime | None
    url: str


def health_page(site: AdminSite, request: HttpRequest) -> HttpResponse:
    """Show the present state. The workers are asked first, while nothing is locked in the database."""
    if getattr(request, "actor", None) is None:
        return HttpResponseRedirect(reverse("admin:switch_tenant"))
    workers, alarms, actor = ping_workers(), beat_entries(), actor_of(request)
    with acting_as(actor), timezone.override(settings_of(request).timezone):
        shown = {**site.each_context(request), **health_context(request, actor, workers, alarms)}
        return TemplateResponse(request, "console/dashboard/health.html", shown).render()


def health_context(request: HttpRequest, actor: Actor, workers: WorkerPing, alarms: list[BeatEntry]) -> dict[str, Any]:
    """Return the values of the page, and a sentence for each problem that somebody should look at."""
    now = timezone.now()
    job_rows: list[ScheduledJobRow] = scheduled_job_rows(alarms, now)
    rows, stuck, hooks = list(work_rows(now)), list(stuck_turn_rows(request)), list(webhook_rows(actor))
    notices = EmailNotification.objects.filter(tenant_id=actor.tenant_id, created_at__gte=now - EMAIL_PERIOD)
    return {
        "title": "Health",
        "now": now,
        "workers": workers,
        "alarms": job_rows,
        "running": Turn.objects.filter(
            tenant_id=actor.tenant_id, status=Turn.Status.RUNNING, is_released=False
        ).count(),
        "work": rows,
        "stuck": stuck,
        "webhooks": hooks,
        "mail_given_up": notices.filter(status=EmailNotification.Status.DEAD).count(),
        "flaws": [*_worker_warnings(workers), *job_warnings(alarms, job_rows), *health_warnings(rows, stuck, hooks)],
    }


def work_rows(now: datetime) -> Iterator[WorkRow]:
    """Yield every kind of work, whether or not any of it waits."""
    found = waiting_work(*WORK_KINDS)
    for kind, (title, patience) in WORK_KINDS.items():
        each = found[kind]
        is_late = bool(patience and each.since and not each.held and each.since < now - patience)
        yield WorkRow(title, each, is_late)


def stuck_turn_rows(request: HttpRequest) -> Iterator[StuckTurns]:
    """Yield the kinds of stuck turns that a person can do something about."""
    counted, conversations = pending_counts(request), reverse("admin:conversations_conversation_changelist")
    for name, title in STUCK_LABELS.items():
        url = f"{conversations}?{urlencode({'tab': 'all', STUCK_PARAMETER: name})}"
        yield StuckTurns(title, *counted.counts[name], url)


def webhook_rows(actor: Actor) -> Iterator[Any]:
    """Yield every webhook with its pending and abandoned deliveries, and the time of its last one."""
    rows = Webhook.objects.visible_to(actor).select_related("health").order_by("title", "pk")
    deliveries = Delivery.objects.filter(tenant_id=actor.tenant_id, webhook=OuterRef("pk"))
    taken = deliveries.filter(status=Delivery.Status.DELIVERED).order_by("-pk").values("delivered_at")[:1]
    yield from rows.annotate(
        on_their_way=_count_per_webhook(deliveries.waiting()),
        given_up=_count_per_webhook(deliveries.dead()),
        last_taken=Subquery(taken),
    )


def _count_per_webhook(rows: QuerySet[Delivery]) -> Coalesce:
    counts = rows.order_by().values("webhook").annotate(rows=Count("pk")).values("rows")
    return Coalesce(Subquery(counts), 0)


def _worker_warnings(workers: WorkerPing) -> Iterator[str]:
    if workers.problem:
        yield f"The broker cannot be reached, so nobody knows which workers run. {NOTHING_LOST}"
    elif not workers.workers:
        yield f"No worker answers. Start one. {NOTHING_LOST}"


def health_warnings(rows: list[WorkRow], stuck: list[StuckTurns], hooks: list[Any]) -> Iterator[str]:
    """Yield a sentence for every other problem, the gravest first."""
    late = [row.title for row in rows if row.is_late]
    if late:
        yield f"Waits longer than it should: {'; '.join(late)}."
    if count := sum(each.count for each in stuck):
        yield "1 turn does not get on." if count == 1 else f"{count} turns do not get on."
    if count := sum(each.given_up for each in hooks):
        yield (
            "1 delivery to a webhook was given up." if count == 1 else f"{count} deliveries to webhooks were given up."
        )
