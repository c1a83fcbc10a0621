"""The one connection of a web process that listens to PostgreSQL. It is never in a transaction and blocks nothing."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

import psycopg
import psycopg.conninfo
from django.conf import settings
from django.db import connections

logger = logging.getLogger(__name__)

CHANNEL: Final = "preceptor_review"
RECONNECT_SECONDS: Final = 1.0
MAX_RECONNECT_SECONDS: Final = 30.0
# TCP keepalives detect a server that disappeared, without waiting for a notification.
KEEPALIVE_OPTIONS: Final = {"keepalives": 1, "keepalives_idle": 15, "keepalives_interval": 5, "keepalives_count": 3}
# Options that Django adds for its own cursors.
DJANGO_OPTIONS: Final = ("cursor_factory", "context", "prepare_threshold", "autocommit", "pool")


async def listen_for_review_changes(heard: Callable[[int | None], None]) -> None:
    """Listen until cancelled. `heard` gets a tenant id, or None whenever notifications may have been missed."""
    pause = RECONNECT_SECONDS
    while True:
        try:
            connection = await _connect()
            try:
                await connection.execute(f"LISTEN {CHANNEL}")
                pause = RECONNECT_SECONDS
                heard(None)
                async for notice in connection.notifies():
                    heard(int(notice.payload))
            finally:
                # No `with` block: on exit it would first end a transaction, and a second cancellation during that would leave the
                # connection open.
                await connection.close()
        except (psycopg.Error, OSError) as error:
            # Until listening resumes, changes are found by polling.
            logger.warning("connection for LISTEN lost", extra={"error": type(error).__name__})
        await asyncio.sleep(pause)
        pause = min(pause * 2, MAX_RECONNECT_SECONDS)


async def _connect() -> "psycopg.AsyncConnection[tuple[Any, ...]]":
    address = psycopg.conninfo.make_conninfo(
        settings.DATABASE_LISTEN_URL or _default_address(), connect_timeout=5, **KEEPALIVE_OPTIONS
    )
    return await psycopg.AsyncConnection.connect(address, autocommit=True)


def _default_address() -> str:
    given: dict[str, Any] = connections["default"].get_connection_params()
    return psycopg.conninfo.make_conninfo(
        **{name: value for name, value in given.items() if name not in DJANGO_OPTIONS}
    )
