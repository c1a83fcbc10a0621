"""Prometheus metrics: process counters, and figures of the whole installation that are read from the database on each scrape.

The web process serves them at a URL; workers and Celery beat serve them at a port of their own. Installation figures are reported
once, however many processes run.
"""

import hmac
import logging
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.db import Error, connection
from django.http import HttpRequest, HttpResponse, HttpResponseNotFound
from django.utils import timezone
from django.views.decorators.http import require_safe
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from apps.runtime.health.beat_monitor import ringing
from apps.telemetry.product_metrics import REQUESTS
from apps.telemetry.prometheus import NAMESPACE, exposition

logger = logging.getLogger(__name__)

Family = type[GaugeMetricFamily] | type[CounterMetricFamily]

TENANT: Final = "tenant"
OLDEST: Final = "waiting_oldest_seconds"
READ: Final = "database_up"
# Name: words, kind of series, and by which label.
FIGURES: Final[Mapping[str, tuple[str, Family, str]]] = {
    "waiting": ("Rows that wait for a worker and are due, by kind.", GaugeMetricFamily, "kind"),
    OLDEST: ("How long the oldest of them has been due.", GaugeMetricFamily, "kind"),
    "deliveries": ("Deliveries to webhooks that wait, or were given up.", GaugeMetricFamily, "state"),
    "notifications": ("E-mails to people that wait, or were given up.", GaugeMetricFamily, "state"),
    "turns_running": ("Turns that are under way or wait to be tried again.", GaugeMetricFamily, "state"),
    "review_open": ("What waits for a person.", GaugeMetricFamily, "kind"),
    "circuit_breakers": ("Models at endpoints, by whether they are asked.", GaugeMetricFamily, "state"),
    "periodic_tasks": ("Periodic tasks of the beat, by whether they run in time.", GaugeMetricFamily, "state"),
    "periodic_task_overdue_seconds": (
        "For how long a periodic task of the beat has been due.",
        GaugeMetricFamily,
        "task",
    ),
    "spent_calls_total": ("Calls of models that were counted, turns and learning.", CounterMetricFamily, "purpose"),
    "spent_tokens_total": ("Tokens of those calls, by class.", CounterMetricFamily, "class"),
    "spent_micro_usd_total": (
        "What they cost by the price table, in millionths of a US dollar.",
        CounterMetricFamily,
        "purpose",
    ),
}


@dataclass(frozen=True, slots=True)
class Figure:
    """One value, of a tenant or of none."""

    name: str
    label: str
    tenant_key: str
    value: float


def figures() -> list[Figure]:
    """Through the one function that may count across tenants; the alarms are nobody's."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, label, tenant_key, value FROM list_installation_gauges()")
        return [*(Figure(*row) for row in cursor.fetchall()), *_of_alarms()]


def _of_alarms() -> Iterator[Figure]:
    now = timezone.now()
    for alarm in ringing():
        state = "never" if alarm.registered_at is None else "late" if alarm.is_late(now) else "on_time"
        yield Figure("periodic_tasks", state, "", 1)
        overdue = alarm.overdue(now)
        yield Figure("periodic_task_overdue_seconds", alarm.task, "", overdue.total_seconds() if overdue else 0)


class InstallationFigures:
    """What Prometheus reads of the whole installation. When the database is away, the process's own counts are needed most."""

    def collect(self) -> Iterator[Metric]:
        """The figures, and whether they could be read."""
        try:
            found = figures()
        except Error:
            found = None
        yield GaugeMetricFamily(
            f"{NAMESPACE}_{READ}", "Whether the database could be asked for the figures below.", found is not None
        )
        if found is not None:
            yield from families(found, by_tenant=settings.METRICS_TENANTS)


def families(found: Sequence[Figure], *, by_tenant: bool) -> Iterator[Metric]:
    """The figures as series. Tenants are named only where the installation's setting says so."""
    for name, (words, kind, label) in FIGURES.items():
        values: dict[tuple[str, ...], float] = defaultdict(float)
        for each in found:
            if each.name == name:
                key = (each.label, each.tenant_key) if by_tenant else (each.label,)
                values[key] = max(values[key], each.value) if name == OLDEST else values[key] + each.value
        family = kind(f"{NAMESPACE}_{name}", words, labels=(label, TENANT) if by_tenant else (label,))
        for labels, value in sorted(values.items()):
            family.add_metric(labels, value)
        yield family


# Loaded with the counts of every process.
COUNTS: Final = (REQUESTS,)
PATH: Final = "/metrics"


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """What this web process counts, and what the database says of the installation. Nothing, without the token that is set."""
    if not may_read(request.headers.get("Authorization", "")):
        return HttpResponseNotFound()
    body, content_type = exposition(request.headers.get("Accept", ""), InstallationFigures())
    answer = HttpResponse(body, content_type=content_type)
    answer["Cache-Control"] = "no-store"
    return answer


def may_read(authorization: str) -> bool:
    """Whether this is the token of the setting; where none is set, there are no metrics."""
    scheme, _, token = authorization.partition(" ")
    wanted = settings.METRICS_TOKEN
    return bool(wanted) and scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), wanted.encode())


class _Asked(BaseHTTPRequestHandler):
    """One question to a process that serves nothing else."""

    server_version, sys_version = "Preceptor", ""

    def do_GET(self) -> None:  # the library's own name
        """The metrics; where a token is set, for whoever has it."""
        is_theirs = not settings.METRICS_TOKEN or may_read(self.headers.get("Authorization", ""))
        found = urlsplit(self.path).path == PATH and is_theirs
        body, content_type = exposition(self.headers.get("Accept", "")) if found else (b"", "text/plain")
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the library's own name
        """Asked every few seconds; that says nothing."""


def serve() -> ThreadingHTTPServer | None:
    """Answer at `METRICS_LISTEN` for as long as the process lives; nothing where it is empty. Where it is taken, that is said."""
    host, _, port = settings.METRICS_LISTEN.rpartition(":")
    if not port:
        return None
    try:
        server = ThreadingHTTPServer((host, int(port)), _Asked)
    except OSError as error:
        logger.warning("metrics are not served", extra={"error": type(error).__name__})
        return None
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server
