"""The heartbeat of the turns a worker holds: one statement per tenant."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from apps.runtime.journal import beat
from apps.runtime.turn import Turning
from apps.tenants.identity import system_actor


@dataclass(frozen=True, slots=True)
class Holding:
    """A turn that runs here, and the task that waits for its model."""

    turning: Turning
    task: asyncio.Task[None]


def beat_all(held: Sequence[Holding]) -> list[Holding]:
    """Extend the leases of all of them; those that another worker holds by now."""
    by_tenant: dict[int, list[Holding]] = defaultdict(list)
    for holding in held:
        by_tenant[holding.turning.turn.tenant_id].append(holding)
    lost: list[Holding] = []
    for tenant_id, ours in by_tenant.items():
        fences = {holding.turning.turn.pk: holding.turning.turn.fence for holding in ours}
        still = beat(fences, actor=system_actor(tenant_id, "worker"))
        lost += [holding for holding in ours if holding.turning.turn.pk not in still]
    return lost
