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

from apps.runtime.health.beat_monitor import beat_entries
from apps.telemetry.product_metrics import REQUESTS
from apps.telemetry.prometheus import NAMESPACE, render_exposition

logger = logging.getLogger(__name__)

Family = type[GaugeMetricFamily] | type[CounterMetricFamily]

TENANT: Final = "tenant"
OLDEST_WAITING: Final = "waiting_oldest_seconds"
DATABASE_UP: Final = "database_up"
# Name: words, kind of series, and by which label.
GAUGES: Final[Mapping[str, tuple[str, Family, str]]] = {
    "waiting": ("Rows that wait for a worker and are due, by kind.", GaugeMetricFamily, "kind"),
    OLDEST_WAITING: ("How long the oldest of them has been due.", GaugeMetricFamily, "kind"),
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
class GaugeValue:
    """One value, of a tenant or of none."""

    name: str
    label: str
    tenant_key: str
    value: float


def read_gauges() -> list[GaugeValue]:
    """Through the one function that may count across tenants; the alarms are nobody's."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, label, tenant_key, value FROM list_installation_gauges()")
        return [*(GaugeValue(*row) for row in cursor.fetchall()), *_beat_gauges()]


def _beat_gauges() -> Iterator[GaugeValue]:
    now = timezone.now()
    for alarm in beat_entries():
        state = "never" if alarm.registered_at is None else "late" if alarm.is_late(now) else "on_time"
        yield GaugeValue("periodic_tasks", state, "", 1)
        overdue = alarm.overdue(now)
        yield GaugeValue("periodic_task_overdue_seconds", alarm.task, "", overdue.total_seconds() if overdue else 0)


class InstallationCollector:
    """What Prometheus reads of the whole installation. When the database is away, the process's own counts are needed most."""

    def collect(self) -> Iterator[Metric]:
        """The figures, and whether they could be read."""
        try:
            found = read_gauges()
        except Error:
            found = None
        yield GaugeMetricFamily(
            f"{NAMESPACE}_{DATABASE_UP}",
            "Whether the database could be asked for the figures below.",
            found is not None,
        )
        if found is not None:
            yield from metric_families(found, by_tenant=settings.METRICS_TENANTS)


def metric_families(found: Sequence[GaugeValue], *, by_tenant: bool) -> Iterator[Metric]:
    """The figures as series. Tenants are named only where the installation's setting says so."""
    for name, (words, kind, label) in GAUGES.items():
        values: dict[tuple[str, ...], float] = defaultdict(float)
        for each in found:
            if each.name == name:
                key = (each.label, each.tenant_key) if by_tenant else (each.label,)
                values[key] = max(values[key], each.value) if name == OLDEST_WAITING else values[key] + each.value
        family = kind(f"{NAMESPACE}_{name}", words, labels=(label, TENANT) if by_tenant else (label,))
        for labels, value in sorted(values.items()):
            family.add_metric(labels, value)
        yield family


# Loaded with the counts of every process.
REQUEST_COUNTERS: Final = (REQUESTS,)
PATH: Final = "/metrics"


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """What this web process counts, and what the database says of the installation. Nothing, without the token that is set."""
    if not may_read_metrics(request.headers.get("Authorization", "")):
        return HttpResponseNotFound()
    body, content_type = render_exposition(request.headers.get("Accept", ""), InstallationCollector())
    answer = HttpResponse(body, content_type=content_type)
    answer["Cache-Control"] = "no-store"
    return answer


def may_read_metrics(authorization: str) -> bool:
    """Whether this is the token of the setting; where none is set, there are no metrics."""
    scheme, _, token = authorization.partition(" ")
    wanted = settings.METRICS_TOKEN
    return bool(wanted) and scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), wanted.encode())


class _MetricsHandler(BaseHTTPRequestHandler):
    """One question to a process that serves nothing else."""

    server_version, sys_version = "Preceptor", ""

    def do_GET(self) -> None:  # the library's own name
        """The metrics; where a token is set, for whoever has it."""
        is_theirs = not settings.METRICS_TOKEN or may_read_metrics(self.headers.get("Authorization", ""))
        found = urlsplit(self.path).path == PATH and is_theirs
        body, content_type = render_exposition(self.headers.get("Accept", "")) if found else (b"", "text/plain")
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the library's own name
        """Asked every few seconds; that says nothing."""


def serve_metrics_endpoint() -> ThreadingHTTPServer | None:
    """Answer at `METRICS_LISTEN` for as long as the process lives; nothing where it is empty. Where it is taken, that is said."""
    host, _, port = settings.METRICS_LISTEN.rpartition(":")
    if not port:
        return None
    try:
        server = ThreadingHTTPServer((host, int(port)), _MetricsHandler)
    except OSError as error:
        logger.warning("metrics are not served", extra={"error": type(error).__name__})
        return None
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server
