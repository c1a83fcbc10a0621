"""The database connections of a few threads that live long: each keeps its own while it is busy.

One that is opened for every call costs more than the call: a process of the server, and every plan made anew.
"""

from collections.abc import Callable
from time import monotonic
from typing import Final, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper

Result = TypeVar("Result")

AGE_SECONDS: Final = 600
# Whoever stands between may cut off who says nothing, and a turn would be the one to find out.
IDLE_SECONDS: Final = 5.0


class Connections:
    """Those of the threads that began with `keep`, for calls made through `lend`."""

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._kept: dict[BaseDatabaseWrapper, float] = {}

    def keep(self) -> None:
        """From here on this thread opens no connection for each call; where the process has a pool, that keeps them."""
        connection = connections[DEFAULT_DB_ALIAS]
        if not _is_pooled(connection):
            connection.settings_dict = {**connection.settings_dict, "CONN_MAX_AGE": AGE_SECONDS}
            self._kept[connection] = monotonic()

    def lend(self, call: Callable[[], Result]) -> Result:
        """Do something with this thread's connection, which is whole before and afterwards, or closed."""
        connection = connections[DEFAULT_DB_ALIAS]
        if connection in self._kept and monotonic() - self._kept[connection] > self._idle_seconds:
            connection.close()
        try:
            return call()
        finally:
            connection.close_if_unusable_or_obsolete()
            if _is_pooled(connection):
                # A thread that keeps what it borrowed would starve the others.
                connection.close()
            elif connection in self._kept:
                self._kept[connection] = monotonic()

    def close(self) -> None:
        """Close what threads kept that have ended."""
        for connection in self._kept:
            connection.inc_thread_sharing()
            connection.close()


def _is_pooled(connection: BaseDatabaseWrapper) -> bool:
    return bool(connection.settings_dict["OPTIONS"].get("pool"))
