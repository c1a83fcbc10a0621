"""Whether workers answer, asked through the broker. Nothing but what people are shown goes by it: the database is the truth."""

import logging
from dataclasses import dataclass
from typing import Final

from kombu.exceptions import OperationalError

from config.celery import app

logger = logging.getLogger(__name__)

# Workers that answer later are busy starting, or gone.
PING_SECONDS: Final = 1.0
# How long a broker that took the question may keep its answer to itself.
READ_SECONDS: Final = 3


@dataclass(frozen=True, slots=True)
class WorkerPing:
    """How many workers answered; `problem` is why nobody could be asked, empty where somebody could."""

    workers: int
    problem: str = ""


def ping_workers() -> WorkerPing:
    """Ask all workers at once; takes a second, and four at most. For pages outside a transaction."""
    options = {"socket_timeout": READ_SECONDS}
    try:
        with app.connection_for_write(transport_options=options) as connection:
            connection.ensure_connection(max_retries=1, timeout=READ_SECONDS)
            replies = app.control.ping(timeout=PING_SECONDS, connection=connection)
    except (OperationalError, OSError) as error:
        # It names the broker's address, which is no tenant's business.
        logger.warning("workers could not be asked: %s", error)
        return WorkerPing(0, str(error) or type(error).__name__)
    return WorkerPing(len(replies or []))
