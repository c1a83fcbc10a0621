"""Whether this installation can serve: asked by whoever sends requests to a process, and by people at three in the morning.

The database is the truth, so without it, or with another one than this release's, nothing is served. The broker wakes workers and
is missed by nobody's data: without it the answer is degraded, and ready. So it is where the beat's alarms do not ring.
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
# Reading all walls takes the tenth of a second; they change with a release.
DRIFT_CACHE_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Readiness:
    """What is said of each part, `well` or what is not; and whether requests can be served all the same."""

    parts: Mapping[str, str]
    is_ready: bool

    @property
    def status(self) -> str:
        """In a word."""
        if not self.is_ready:
            return "not ready"
        return "ready" if all(state == HEALTHY for state in self.parts.values()) else "degraded"


class SecurityDriftCheck:
    """What stands in the database beside what is declared, remembered for a while."""

    def __init__(self) -> None:
        self._said: tuple[float, str] | None = None

    def __call__(self) -> str:
        """Well, or how much differs; `sync_policy --check` names it."""
        if self._said is None or time.monotonic() - self._said[0] > DRIFT_CACHE_SECONDS:
            count = len(security_drift())
            self._said = (time.monotonic(), f"{count} walls are not as declared" if count else HEALTHY)
        return self._said[1]

    def forget(self) -> None:
        """Look again."""
        self._said = None


security_drift_check = SecurityDriftCheck()


@require_safe
def readyz(_request: HttpRequest) -> JsonResponse:
    """200 where requests can be served, 503 where not, and what is so. It names parts and no tenant, address or secret."""
    found = check_readiness()
    answer = JsonResponse({"status": found.status, "parts": found.parts}, status=200 if found.is_ready else 503)
    answer["Cache-Control"] = "no-store"
    return answer


def check_readiness() -> Readiness:
    """Every part, one after the other; what hangs on the database is not asked without it."""
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
    """Well, where it answers."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        return HEALTHY


def check_migrations() -> str:
    """Well, where every migration of this release was made. One of a later release is none of ours."""
    missing = release_migrations() - MigrationRecorder(connection).applied_migrations().keys()
    return f"{len(missing)} migrations are missing" if missing else HEALTHY


@cache
def release_migrations() -> frozenset[tuple[str, str]]:
    """Every migration that this process brought along."""
    return frozenset(MigrationLoader(None).disk_migrations)


def check_broker() -> str:
    """Well, where it answers at once."""
    try:
        with broker_client() as client:
            client.ping()
    except redis.RedisError as error:
        return f"cannot be reached ({type(error).__name__}); workers find by themselves what waits, some seconds later"
    return HEALTHY


def check_beat() -> str:
    """Well, where no alarm is overdue: neither the beat is away, nor every worker, nor the broker between them."""
    now, alarms = timezone.now(), beat_entries()
    late = sum(alarm.is_late(now) for alarm in alarms)
    return f"{late} of {len(alarms)} alarms are overdue" if late else HEALTHY


def _check_with_database(ask: Callable[[], str]) -> str:
    try:
        return ask()
    except Error as error:
        return f"cannot be asked ({type(error).__name__})"
