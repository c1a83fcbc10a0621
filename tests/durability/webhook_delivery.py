"""What is due for webhooks, sent by the engine's own couriers."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.db import connections

from apps.runtime.webhook_delivery.dispatcher import DeliveryDispatcher
from apps.tenants.due_work import due_work

SECONDS = 30


def deliver_due(tenant_id: int) -> None:
    """Send until nothing of the tenant's is due."""
    while due := [(tenant, delivery) for tenant, delivery in due_work("webhook_deliveries") if tenant == tenant_id]:
        asyncio.run(_deliver_all(due))


async def _deliver_all(due: Sequence[tuple[int, int]]) -> None:
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(1) as thread:

        async def do(_tenant_id: int, call: Callable[[], Any]) -> Any:  # Any: as the couriers have it
            return await loop.run_in_executor(thread, call)

        async def find_due() -> Sequence[tuple[int, int]]:
            return ()

        dispatcher = DeliveryDispatcher(do, find_due)
        dispatcher.send(due)
        await dispatcher.drain(SECONDS)
        await loop.run_in_executor(thread, connections.close_all)
