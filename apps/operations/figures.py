"""Figures of the whole installation, read from the database when they are asked for: told once, however many processes run."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from django.conf import settings
from django.db import connection
from django.utils import timezone

from apps.runtime.alarms import ringing
from apps.telemetry.meters import heading, sample

TENANT: Final = "tenant"
OLDEST: Final = "waiting_oldest_seconds"
# Name: words, what is counted, and by which label.
FIGURES: Final[Mapping[str, tuple[str, str, str]]] = {
    "waiting": ("Rows that wait for a worker and are due, by kind.", "gauge", "kind"),
    OLDEST: ("How long the oldest of them has been due.", "gauge", "kind"),
    "deliveries": ("Deliveries to webhooks that wait, or were given up.", "gauge", "state"),
    "notifications": ("E-mails to people that wait, or were given up.", "gauge", "state"),
    "turns_running": ("Turns that are under way or wait to be tried again.", "gauge", "state"),
    "review_open": ("What waits for a person.", "gauge", "kind"),
    "circuit_breakers": ("Models at endpoints, by whether they are asked.", "gauge", "state"),
    "periodic_tasks": ("Periodic tasks of the beat, by whether they run in time.", "gauge", "state"),
    "periodic_task_overdue_seconds": ("For how long a periodic task of the beat has been due.", "gauge", "task"),
    "spent_calls_total": ("Calls of models that were counted, turns and learning.", "counter", "purpose"),
    "spent_tokens_total": ("Tokens of those calls, by class.", "counter", "class"),
    "spent_micro_usd_total": ("What they cost by the price table, in millionths of a US dollar.", "counter", "purpose"),
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


def lines_of(found: list[Figure], *, by_tenant: bool | None = None) -> Iterator[str]:
    """As Prometheus reads them. Whose they are is left out unless the installation's setting has it told."""
    told = settings.METRICS_TENANTS if by_tenant is None else by_tenant
    for name, (words, kind, label) in FIGURES.items():
        values: dict[tuple[str, str], float] = defaultdict(float)
        for each in found:
            if each.name == name:
                key = (each.label, each.tenant_key if told else "")
                values[key] = max(values[key], each.value) if name == OLDEST else values[key] + each.value
        yield from heading(f"preceptor_{name}", words, kind)
        for (said, tenant_key), value in sorted(values.items()):
            yield sample(f"preceptor_{name}", {label: said, **({TENANT: tenant_key} if tenant_key else {})}, value)
