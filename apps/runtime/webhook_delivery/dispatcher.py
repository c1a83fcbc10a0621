"""Sends webhook deliveries on the turn engine's event loop, with limits on the deliveries at once in total and per tenant.

When a delivery ends, the next one begins. When none is left, the dispatcher looks for due ones at once and not at the next poll, so
a backlog drains as fast as the limits and the receivers allow.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Any

import aiohttp
from django.conf import settings
from django.db import DatabaseError, InterfaceError

from apps.runtime.webhook_delivery.delivery_lease import record_response, take_delivery
from apps.runtime.webhook_delivery.delivery_queue import DeliveryQueue
from apps.runtime.webhook_delivery.http_sender import guarded_session, post_delivery

logger = logging.getLogger(__name__)

# Runs a tenant's database call in a thread. Any: the result of the call.
DatabaseCall = Callable[[int, Callable[[], Any]], Awaitable[Any]]
# Finds the due deliveries, as (tenant id, delivery id).
DueSearch = Callable[[], Awaitable[Sequence[tuple[int, int]]]]


class DeliveryDispatcher:
    """Sends due deliveries. A delivery that is not completed becomes due again when its lease expires."""

    def __init__(self, do: DatabaseCall, find_due: DueSearch) -> None:
        self._do = do
        self._find_due = find_due
        self._queue = DeliveryQueue(settings.DELIVERIES_IN_FLIGHT, settings.DELIVERIES_PER_TENANT)
        self._tasks: set[asyncio.Task[None]] = set()
        self._search: asyncio.Task[None] | None = None
        self._has_sent = False
        self._is_draining = False
        self._session: aiohttp.ClientSession | None = None

    def send(self, due: Iterable[tuple[int, int]]) -> None:
        """Send these deliveries, each as soon as the limits allow; they take the place of those that were found earlier."""
        self._queue.replace(due)
        self._begin_next()

    async def drain(self, seconds: float) -> None:
        """Begin no more deliveries, wait so many seconds for running ones, then cancel them. Another worker sends those again."""
        self._is_draining = True
        if self._search is not None:
            self._search.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    def _begin_next(self) -> None:
        while not self._is_draining and (picked := self._queue.take()):
            task = asyncio.create_task(self._deliver(*picked))
            self._tasks.add(task)
            task.add_done_callback(partial(self._end, *picked))

    def _end(self, tenant_id: int, delivery_id: int, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        self._queue.ended(tenant_id, delivery_id)
        self._begin_next()
        # Only after a response was recorded: otherwise a delivery that cannot be taken would be searched for without a pause.
        if self._queue.is_empty and self._has_sent and self._search is None and not self._is_draining:
            self._search = asyncio.create_task(self._send_more())

    async def _send_more(self) -> None:
        self._has_sent = False
        try:
            found = await self._find_due()
        except (DatabaseError, InterfaceError) as error:
            logger.warning("due deliveries could not be read", extra={"error": type(error).__name__})
            return
        finally:
            self._search = None
        if found:
            self.send(found)

    async def _deliver(self, tenant_id: int, delivery_id: int) -> None:
        """Send a delivery, then the next ones of the same conversation to the same webhook."""
        self._session = self._session or guarded_session()
        following: int | None = delivery_id
        try:
            while following is not None:
                request = await self._do(tenant_id, partial(take_delivery, tenant_id, following))
                if request is None:
                    return
                answer = await post_delivery(self._session, request)
                following = await self._do(tenant_id, partial(record_response, request, answer))
                self._has_sent = True
        except (DatabaseError, InterfaceError) as error:
            logger.warning(
                "delivery left to its lease", extra={"delivery_id": delivery_id, "error": type(error).__name__}
            )
