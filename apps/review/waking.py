"""The wake-up call to a worker. Losing it costs a sweep interval, never a decision."""

import logging
from functools import partial

from django.db import transaction
from kombu.exceptions import OperationalError

from config.celery import app

logger = logging.getLogger(__name__)


def wake_bulk(tenant_id: int, bulk_id: int) -> None:
    """Have a worker decide once what was written stands."""
    transaction.on_commit(partial(_send, tenant_id, bulk_id))


def _send(tenant_id: int, bulk_id: int) -> None:
    try:
        app.send_task("apps.review.tasks.decide_bulk", args=[tenant_id, bulk_id], retry=False)
    except OperationalError:
        logger.warning("broker unreachable, the sweep will decide", extra={"bulk_id": bulk_id})
