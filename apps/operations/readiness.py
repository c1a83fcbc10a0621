"""Readiness: whether this installation can serve requests, for load balancers and for people who look for a fault.

The installation is not ready if the database is down or its schema does not fit this release. If the broker is down or periodic
tasks are overdue, the status is degraded but ready, since workers find their work in the database.

The response comes within a second, also if the database or the broker is frozen: it accepts connections and does not answer. The
checks run in threads of their own, and a request reports the results that are there in time.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Final

import redis
from django.db import DEFAULT_DB_ALIAS, Error, connection, connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.governance.database_drift.security_catalog import security_drift
from apps.operations.check_threads import PartChecks
from apps.runtime.health.beat_monitor import beat_entries
from apps.runtime.streaming.reply_pubsub import broker_client

HEALTHY: Final = "well"
# Requests can be served only while these are well.
NEEDED_PARTS: Final = ("database", "migrations", "walls")
# How long a request waits for the checks.
ANSWER_SECONDS: Final = 0.8
# The check of row security takes a tenth of a second, and its result changes only with a release.
DRIFT_CACHE_SECONDS: Final = 60.0
# The connection of the checks gives up if the server freezes while it connects, or if the server's machine is gone.
CONNECTION_OPTIONS: Final = {
    "connect_timeout": 2,
    "keepalives_idle": 2,
    "keepalives_interval": 2,
    "keepalives_count": 2,
    "tcp_user_timeout": 4000,
}


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
    """Check all parts, and return the results that are there in time."""
    until = time.monotonic() + ANSWER_SECONDS
    runs = [(checks, checks.begin()) for checks in (database_checks, broker_checks)]
    parts: dict[str, str] = {}
    for checks, run in runs:
        run.has_ended.wait(max(until - time.monotonic(), 0))
        parts |= checks.results(run)
    return Readiness(parts, all(parts.get(name) == HEALTHY for name in NEEDED_PARTS))


def check_database_parts() -> Iterator[tuple[str, str]]:
    """Check the parts that need the database, on a connection of their own. Without the database, the others are left out."""
    with own_connection():
        found = {"database": _check_with_database(check_database)}
        yield from found.items()
        if found["database"] != HEALTHY:
            return
        for name, check in (("migrations", check_migrations), ("walls", security_drift_check)):
            found[name] = _check_with_database(check)
            yield name, found[name]
        if all(state == HEALTHY for state in found.values()):
            yield "beat", _check_with_database(check_beat)


def check_broker_parts() -> Iterator[tuple[str, str]]:
    """Check the broker."""
    yield "broker", check_broker()


database_checks: Final = PartChecks((*NEEDED_PARTS, "beat"), check_database_parts)
broker_checks: Final = PartChecks(("broker",), check_broker_parts)


@contextmanager
def own_connection() -> Iterator[None]:
    """Use a connection outside of the pool in this thread, and close it at the end."""
    own = connections[DEFAULT_DB_ALIAS].copy()
    own.settings_dict["OPTIONS"].pop("pool", None)
    own.settings_dict["OPTIONS"] |= CONNECTION_OPTIONS
    connections[DEFAULT_DB_ALIAS] = own
    try:
        yield
    finally:
        own.close()


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
