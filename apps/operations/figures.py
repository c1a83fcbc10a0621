"""Figures of the whole installation, read from the database when they are asked for: told once, however many processes run."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.conf import settings
from django.db import Error, connection
from django.utils import timezone
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from apps.runtime.health.beat_monitor import ringing
from apps.telemetry.prometheus import NAMESPACE

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
