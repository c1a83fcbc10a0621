"""Pings the workers through the broker. The result is only shown to people; the product relies on the database."""

import logging
from dataclasses import dataclass
from typing import Final

from kombu.exceptions import OperationalError

from config.celery import app

logger = logging.getLogger(__name__)

# A worker that has not answered by then is still starting, or down.
PING_SECONDS: Final = 1.0
# How long to wait for a broker that accepted the ping and does not answer.
READ_SECONDS: Final = 3


@dataclass(frozen=True, slots=True)
class WorkerPing:
    """The number of workers that answered. `problem` is the reason if no ping could be sent, otherwise empty."""

    workers: int
    problem: str = ""


def ping_workers() -> WorkerPing:
    """Ping all workers at once. The ping takes one to four seconds, so call it outside of a transaction."""
    options = {"socket_timeout": READ_SECONDS}
    try:
        with app.connection_for_write(transport_options=options) as connection:
            connection.ensure_connection(max_retries=1, timeout=READ_SECONDS)
            replies = app.control.ping(timeout=PING_SECONDS, connection=connection)
    except (OperationalError, OSError) as error:
        # The error contains the broker's address, which tenants must not see.
        logger.warning("workers could not be asked: %s", error)
        return WorkerPing(0, str(error) or type(error).__name__)
    return WorkerPing(len(replies or []))
