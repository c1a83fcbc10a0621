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
# Name, description, kind of series, and label.
GAUGES: Final[Mapping[str, tuple[str, Family, str]]] = {
    "waiting": ("Due rows that wait for a worker, by kind.", GaugeMetricFamily, "kind"),
    OLDEST_WAITING: ("Seconds since the oldest of them became due.", GaugeMetricFamily, "kind"),
    "deliveries": ("Webhook deliveries that wait or have failed, by state.", GaugeMetricFamily, "state"),
    "notifications": ("Notification e-mails that wait or have failed, by state.", GaugeMetricFamily, "state"),
    "turns_running": ("Turns that run or wait for a retry, by state.", GaugeMetricFamily, "state"),
    "review_open": ("Open work that waits for a person, by kind.", GaugeMetricFamily, "kind"),
    "circuit_breakers": ("Circuit breakers of models at endpoints, by state.", GaugeMetricFamily, "state"),
    "periodic_tasks": ("Periodic tasks, by whether they run on time.", GaugeMetricFamily, "state"),
    "periodic_task_overdue_seconds": (
        "Seconds that a periodic task has been overdue.",
        GaugeMetricFamily,
        "task",
    ),
    "spent_calls_total": ("Model calls of turns and learning, by purpose.", CounterMetricFamily, "purpose"),
    "spent_tokens_total": ("Tokens of those calls, by billing class.", CounterMetricFamily, "class"),
    "spent_micro_usd_total": (
        "Cost of those calls by the price table, in millionths of a US dollar.",
        CounterMetricFamily,
        "purpose",
    ),
}


@dataclass(frozen=True, slots=True)
class GaugeValue:
    """One value, of a tenant or of the whole installation."""

    name: str
    label: str
    tenant_key: str
    value: float


def read_gauges() -> list[GaugeValue]:
    """Read the figures through the one function that may count across tenants. Alarms belong to no tenant."""
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
    """Collects the installation's figures for Prometheus.

    If the database is unavailable, the process's own counters are still served.
    """

    def collect(self) -> Iterator[Metric]:
        """Yield the figures, and whether they could be read."""
        try:
            found = read_gauges()
        except Error:
            found = None
        yield GaugeMetricFamily(
            f"{NAMESPACE}_{DATABASE_UP}",
            "1 if the database could be read for the figures below, otherwise 0.",
            found is not None,
        )
        if found is not None:
            yield from metric_families(found, by_tenant=settings.METRICS_TENANTS)


def metric_families(found: Sequence[GaugeValue], *, by_tenant: bool) -> Iterator[Metric]:
    """Yield the figures as series. Tenants are named only if a setting of the installation allows it."""
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


# Importing this module registers the request counters.
REQUEST_COUNTERS: Final = (REQUESTS,)
PATH: Final = "/metrics"


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Serve the counters of this process and the figures of the installation, to holders of the configured token."""
    if not may_read_metrics(request.headers.get("Authorization", "")):
        return HttpResponseNotFound()
    body, content_type = render_exposition(request.headers.get("Accept", ""), InstallationCollector())
    answer = HttpResponse(body, content_type=content_type)
    answer["Cache-Control"] = "no-store"
    return answer


def may_read_metrics(authorization: str) -> bool:
    """Whether the header carries the configured token. Without a configured token there are no metrics."""
    scheme, _, token = authorization.partition(" ")
    wanted = settings.METRICS_TOKEN
    return bool(wanted) and scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), wanted.encode())


class _MetricsHandler(BaseHTTPRequestHandler):
    """Serves metrics from a process that has no other HTTP server."""

    server_version, sys_version = "Preceptor", ""

    def do_GET(self) -> None:  # the library's own name
        """Return the metrics to a holder of the token."""
        is_theirs = not settings.METRICS_TOKEN or may_read_metrics(self.headers.get("Authorization", ""))
        found = urlsplit(self.path).path == PATH and is_theirs
        body, content_type = render_exposition(self.headers.get("Accept", "")) if found else (b"", "text/plain")
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the library's own name
        """Log nothing, because Prometheus scrapes every few seconds."""


def serve_metrics_endpoint() -> ThreadingHTTPServer | None:
    """Serve metrics at `METRICS_LISTEN` while the process lives, or not at all if that is empty. A port in use is only logged."""
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
