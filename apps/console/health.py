"""Health: whether workers answer and the beat wakes them, what waits for them and how long, and what nobody tries any more."""

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

from apps.console.alarms import Alarm, alarms_told, flaws_of_alarms
from apps.console.awaiting import awaiting
from apps.console.requests import actor_of, settings_of
from apps.console.stuck import LABELS, STUCK
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting
from apps.notifications.models import EmailNotification
from apps.runtime.health.beat_monitor import Ringing, ringing
from apps.runtime.health.worker_ping import Answering, answering
from apps.runtime.models import Turn
from apps.tenants.due_work import Waiting, waiting_work
from apps.webhooks.models import Delivery, Webhook

LATELY: Final = timedelta(days=7)
KEPT: Final = "What waits is kept in the database; nothing is lost."
_SOON: Final = timedelta(minutes=5)
_HOURLY: Final = timedelta(hours=3)
# Each kind of work, and after how long somebody should ask why it waits; None where that moment tells nothing of a worker.
WORK: Final[Mapping[str, tuple[str, timedelta | None]]] = {
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
    "bulk_decisions": ("Proposals decided together", _SOON),
    "proposal_expiries": ("Proposals that ran out of time", _HOURLY),
    "tool_listings": ("Tool servers to ask for their tools", timedelta(minutes=15)),
    "scratch_notes": ("Notes nobody touched for long", _HOURLY),
    "idempotency_records": ("Answers of the API that were kept long enough", _HOURLY),
}


@dataclass(frozen=True, slots=True)
class Row:
    """A kind of work as the page tells it."""

    title: str
    waiting: Waiting
    is_late: bool


@dataclass(frozen=True, slots=True)
class Stuck:
    """Turns that do not get on for one reason, and the list of their conversations."""

    title: str
    count: int
    oldest: datetime | None
    url: str


def health_page(site: AdminSite, request: HttpRequest) -> HttpResponse:
    """All of it as it is just now. The workers are asked first: nothing is held in the database meanwhile."""
    if getattr(request, "actor", None) is None:
        return HttpResponseRedirect(reverse("admin:switch_tenant"))
    workers, alarms, actor = answering(), ringing(), actor_of(request)
    with acting(actor), timezone.override(settings_of(request).timezone):
        shown = {**site.each_context(request), **health(request, actor, workers, alarms)}
        return TemplateResponse(request, "console/health.html", shown).render()


def health(request: HttpRequest, actor: Actor, workers: Answering, alarms: list[Ringing]) -> dict[str, Any]:
    """What the page shows, and in a sentence each what somebody should look at."""
    now = timezone.now()
    told: list[Alarm] = alarms_told(alarms, now)
    rows, stuck, hooks = list(work(now)), list(stuck_of(request)), list(webhooks_of(actor))
    notices = EmailNotification.objects.filter(tenant_id=actor.tenant_id, created_at__gte=now - LATELY)
    return {
        "title": "Health",
        "now": now,
        "workers": workers,
        "alarms": told,
        "running": Turn.objects.filter(
            tenant_id=actor.tenant_id, status=Turn.Status.RUNNING, is_released=False
        ).count(),
        "work": rows,
        "stuck": stuck,
        "webhooks": hooks,
        "mail_given_up": notices.filter(status=EmailNotification.Status.DEAD).count(),
        "flaws": [*_of_workers(workers), *flaws_of_alarms(alarms, told), *flaws(rows, stuck, hooks)],
    }


def work(now: datetime) -> Iterator[Row]:
    """Every kind, whether or not anything of it waits."""
    found = waiting_work(*WORK)
    for kind, (title, patience) in WORK.items():
        each = found[kind]
        is_late = bool(patience and each.since and not each.held and each.since < now - patience)
        yield Row(title, each, is_late)


def stuck_of(request: HttpRequest) -> Iterator[Stuck]:
    """Those that somebody can help."""
    counted, conversations = awaiting(request), reverse("admin:conversations_conversation_changelist")
    for name, title in LABELS.items():
        url = f"{conversations}?{urlencode({'tab': 'all', STUCK: name})}"
        yield Stuck(title, *counted.counts[name], url)


def webhooks_of(actor: Actor) -> Iterator[Any]:
    """Those with something on its way or given up, and those that fail."""
    rows = Webhook.objects.visible_to(actor).select_related("health").order_by("title", "pk")
    told = Delivery.objects.filter(tenant_id=actor.tenant_id, webhook=OuterRef("pk"))
    taken = told.filter(status=Delivery.Status.DELIVERED).order_by("-pk").values("delivered_at")[:1]
    yield from rows.annotate(
        on_their_way=_counted(told.waiting()), given_up=_counted(told.dead()), last_taken=Subquery(taken)
    )


def _counted(rows: QuerySet[Delivery]) -> Coalesce:
    counts = rows.order_by().values("webhook").annotate(rows=Count("pk")).values("rows")
    return Coalesce(Subquery(counts), 0)


def _of_workers(workers: Answering) -> Iterator[str]:
    if workers.problem:
        yield f"The broker cannot be reached, so nobody knows which workers run. {KEPT}"
    elif not workers.workers:
        yield f"No worker answers. Start one. {KEPT}"


def flaws(rows: list[Row], stuck: list[Stuck], hooks: list[Any]) -> Iterator[str]:
    """What else is not as it should be, the gravest first."""
    late = [row.title for row in rows if row.is_late]
    if late:
        yield f"Waits longer than it should: {'; '.join(late)}."
    if count := sum(each.count for each in stuck):
        yield "1 turn does not get on." if count == 1 else f"{count} turns do not get on."
    if count := sum(each.given_up for each in hooks):
        yield (
            "1 delivery to a webhook was given up." if count == 1 else f"{count} deliveries to webhooks were given up."
        )
