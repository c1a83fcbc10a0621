"""The heartbeat of the turns a worker holds: one statement per tenant."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from apps.runtime.journal import beat
from apps.runtime.turn import Turning
from apps.tenants.identity import system_actor


@dataclass(slots=True)
class Holding:
    """A turn that runs here, and the task that waits for its model; `is_stopped` once a person will not have it go on."""

    turning: Turning
    task: asyncio.Task[None]
    is_stopped: bool = False


@dataclass(frozen=True, slots=True)
class Beaten:
    """What a heartbeat found: turns that another worker holds by now, and turns that a person has stopped."""

    lost: list[Holding]
    stopped: list[Holding]


def beat_all(held: Sequence[Holding]) -> Beaten:
    """Extend the leases of all of them."""
    by_tenant: dict[int, list[Holding]] = defaultdict(list)
    for holding in held:
        by_tenant[holding.turning.turn.tenant_id].append(holding)
    beaten = Beaten([], [])
    for tenant_id, ours in by_tenant.items():
        fences = {holding.turning.turn.pk: holding.turning.turn.fence for holding in ours}
        still = beat(fences, actor=system_actor(tenant_id, "worker"))
        beaten.lost.extend(holding for holding in ours if holding.turning.turn.pk not in still)
        beaten.stopped.extend(holding for holding in ours if still.get(holding.turning.turn.pk) is False)
    return beaten
