"""The turn engine of this process, if it runs one: start, stop, wake, and the turns in progress."""

import logging
from dataclasses import asdict

from django.conf import settings

from apps.runtime.streaming.reply_pubsub import ReplyPublisher
from apps.runtime.worker.engine import Engine, EngineLimits
from apps.runtime.worker.garbage_collection import freeze_loaded_objects
from apps.runtime.worker.model_backends import engine_backend, engine_backend_at

logger = logging.getLogger(__name__)

_engines: list[Engine] = []
_publishers: list[ReplyPublisher] = []


def start() -> None:
    """Start the turn engine, unless this process is configured to take no turns."""
    if settings.TURNS_IN_FLIGHT == 0:
        return
    limits = EngineLimits(
        in_flight=settings.TURNS_IN_FLIGHT,
        threads=settings.TURN_DATABASE_THREADS,
        poll_seconds=settings.SWEEP_INTERVAL_SECONDS,
        lease_seconds=settings.TURN_LEASE_SECONDS,
    )
    freeze_loaded_objects()
    air = ReplyPublisher()
    air.start()
    engine = Engine(engine_backend, limits, make_backend_at=engine_backend_at, listeners=air)
    engine.start()
    _publishers.append(air)
    _engines.append(engine)
    logger.info("turn engine started")


def wake(tenant_id: int, conversation_id: int, in_seconds: int = 0) -> bool:
    """Check a conversation in so many seconds. False if no engine runs in this process."""
    for engine in _engines:
        engine.wake(tenant_id, conversation_id, in_seconds)
    return bool(_engines)


def turns_under_way() -> list[dict[str, object]]:
    """The turns that this process is running, the oldest first, as JSON-serialisable dicts."""
    return [asdict(turn) for engine in _engines for turn in engine.turns_under_way()]


def stop(drain_seconds: float) -> None:
    """Let running turns finish within so many seconds, and release the rest."""
    while _engines:
        _engines.pop().stop(drain_seconds)
        logger.info("turn engine stopped")
    while _publishers:
        _publishers.pop().stop()
