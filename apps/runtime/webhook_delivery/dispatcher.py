"""Sends webhook deliveries on the turn engine's event loop, with limits on the deliveries at once in total and per tenant."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, Final

import aiohttp
from django.db import DatabaseError, InterfaceError

from apps.runtime.webhook_delivery.delivery_lease import record_response, take_delivery
from apps.runtime.webhook_delivery.http_sender import guarded_session, post_delivery

logger = logging.getLogger(__name__)

IN_FLIGHT: Final = 64
# One tenant's hanging server must not delay the deliveries of others.
MAX_PER_TENANT: Final = 16

# Runs a tenant's database call in a thread. Any: the result of the call.
DatabaseCall = Callable[[int, Callable[[], Any]], Awaitable[Any]]


class DeliveryDispatcher:
    """Sends due deliveries. A delivery that is not completed becomes due again when its lease expires."""

    def __init__(self, do: DatabaseCall) -> None:
        self._do = do
        self._going: dict[int, asyncio.Task[None]] = {}
        self._of_tenant: Counter[int] = Counter()
        self._session: aiohttp.ClientSession | None = None

    def send(self, due: Iterable[tuple[int, int]]) -> None:
        """Begin as many deliveries as the limits allow. The others stay due until the next poll."""
        for tenant_id, delivery_id in due:
            if len(self._going) >= IN_FLIGHT:
                return
            if delivery_id not in self._going and self._of_tenant[tenant_id] < MAX_PER_TENANT:
                self._of_tenant[tenant_id] += 1
                task = asyncio.create_task(self._deliver(tenant_id, delivery_id))
                self._going[delivery_id] = task
                task.add_done_callback(partial(self._forget_task, tenant_id, delivery_id))

    async def drain(self, seconds: float) -> None:
        """Wait so many seconds for running deliveries, then cancel the rest. Another worker sends those again."""
        if self._going:
            await asyncio.wait(self._going.values(), timeout=seconds)
        tasks = list(self._going.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    def _forget_task(self, tenant_id: int, delivery_id: int, _task: "asyncio.Task[None]") -> None:
        del self._going[delivery_id]
        self._of_tenant[tenant_id] -= 1

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
        except (DatabaseError, InterfaceError) as error:
            logger.warning(
                "delivery left to its lease", extra={"delivery_id": delivery_id, "error": type(error).__name__}
            )
