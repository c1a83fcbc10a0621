"""Readiness: whether this installation can serve requests, for load balancers and for people who look for a fault.

The installation is not ready if the database is down or its schema does not fit this release. If the broker is down or periodic
tasks are overdue, the status is degraded but ready, since workers find their work in the database.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

import redis
from django.db import Error, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.governance.database_drift.security_catalog import security_drift
from apps.runtime.health.beat_monitor import beat_entries
from apps.runtime.streaming.reply_pubsub import broker_client

HEALTHY: Final = "well"
# The check of row security takes a tenth of a second, and its result changes only with a release.
DRIFT_CACHE_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Readiness:
    """The state of each part, `well` or a description of the fault, and whether requests can be served."""

    parts: Mapping[str, str]
    is_ready: bool

    @property
    def status(self) -> str:
        """Return the status in one word."""
        if not self.is_ready:
            return "not ready"
        return "ready" if all(state == HEALTHY for state in self.parts.values()) else "degraded"


class SecurityDriftCheck:
    """Compares the database's row security with what this release declares, and remembers the result for a while."""

    def __init__(self) -> None:
        self._said: tuple[float, str] | None = None

    def __call__(self) -> str:
        """Return `well`, or the number of differences; `sync_policy --check` lists them."""
        if self._said is None or time.monotonic() - self._said[0] > DRIFT_CACHE_SECONDS:
            count = len(security_drift())
            self._said = (
                time.monotonic(),
                f"{count} policies, triggers or rights are not as declared" if count else HEALTHY,
            )
        return self._said[1]

    def forget(self) -> None:
        """Forget the remembered result."""
        self._said = None


security_drift_check = SecurityDriftCheck()


@require_safe
def readyz(_request: HttpRequest) -> JsonResponse:
    """Return 200 if requests can be served, otherwise 503, with the state of each part. It names no tenant, address or secret."""
    found = check_readiness()
    answer = JsonResponse({"status": found.status, "parts": found.parts}, status=200 if found.is_ready else 503)
    answer["Cache-Control"] = "no-store"
    return answer


def check_readiness() -> Readiness:
    """Check every part in turn. Parts that need the database are skipped without it."""
    needed = {"database": _check_with_database(check_database)}
    if needed["database"] == HEALTHY:
        needed |= {
            "migrations": _check_with_database(check_migrations),
            "walls": _check_with_database(security_drift_check),
        }
    is_ready = all(state == HEALTHY for state in needed.values())
    missed = {"broker": check_broker(), **({"beat": _check_with_database(check_beat)} if is_ready else {})}
    return Readiness({**needed, **missed}, is_ready)


def check_database() -> str:
    """Return `well` if the database answers."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        return HEALTHY


def check_migrations() -> str:
    """Return `well` if every migration of this release is applied. Migrations of later releases do not count."""
    missing = release_migrations() - MigrationRecorder(connection).applied_migrations().keys()
    return f"{len(missing)} migrations are missing" if missing else HEALTHY


@cache
def release_migrations() -> frozenset[tuple[str, str]]:
    """Return every migration of this release."""
    return frozenset(MigrationLoader(None).disk_migrations)


def check_broker() -> str:
    """Return `well` if the broker answers at once."""
    try:
        with broker_client() as client:
            client.ping()
    except redis.RedisError as error:
        return f"cannot be reached ({type(error).__name__}); workers find by themselves what waits, some seconds later"
    return HEALTHY


def check_beat() -> str:
    """Return `well` if no periodic task is overdue, so that the beat, a worker and the broker between them all work."""
    now, alarms = timezone.now(), beat_entries()
    late = sum(alarm.is_late(now) for alarm in alarms)
    return f"{late} of {len(alarms)} alarms are overdue" if late else HEALTHY


def _check_with_database(ask: Callable[[], str]) -> str:
    try:
        return ask()
    except Error as error:
        return f"cannot be asked ({type(error).__name__})"
