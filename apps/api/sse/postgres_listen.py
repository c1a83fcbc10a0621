"""The one connection of a web process that listens to the database. It is never in a transaction and holds nothing up."""

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
# A server that went away without a word is noticed by the system, and not when something should have been heard.
KEEPALIVE_OPTIONS: Final = {"keepalives": 1, "keepalives_idle": 15, "keepalives_interval": 5, "keepalives_count": 3}
# What Django adds for its own cursors.
DJANGO_OPTIONS: Final = ("cursor_factory", "context", "prepare_threshold", "autocommit", "pool")


async def listen_for_review_changes(heard: Callable[[int | None], None]) -> None:
    """Listen for good. `heard` is told the tenant, and None whenever something may have passed unheard."""
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
                # Not by leaving a block: that would first end a transaction, and whoever is told to stop twice would not close it.
                await connection.close()
        except (psycopg.Error, OSError) as error:
            # Until it listens again, what happens is found by looking.
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
