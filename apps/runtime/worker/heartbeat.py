"""The heartbeat of the turns a worker holds: one statement per tenant."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from apps.runtime.turn_store.turn_journal import beat, said_more
from apps.runtime.turns.turn_machine import Turning
from apps.tenants.authentication.actor_resolution import system_actor


@dataclass(slots=True)
class Holding:
    """A turn that runs here, and the task that waits for its model.

    `is_stopped` once a person will not have it go on, `has_said_more` once its customer went on writing.
    """

    turning: Turning
    task: asyncio.Task[None]
    begun_at: float = field(default_factory=time.monotonic)
    is_stopped: bool = False
    is_thinking: bool = False
    has_said_more: bool = False

    @property
    def may_begin_anew(self) -> bool:
        """Whether it waits for its model, and its agent would rather answer all that has arrived."""
        return self.is_thinking and self.turning.claimed.agent.begins_anew


@dataclass(frozen=True, slots=True)
class TurnUnderWay:
    """A turn as its worker shows it, without a word of it. `seconds` are those since this worker took it."""

    turn_id: int
    tenant_id: int
    conversation_id: int
    seconds: float
    waits_for_model: bool


def under_way(holding: Holding, now: float) -> TurnUnderWay:
    """What there is to see of a turn at this reading of the monotonic clock."""
    turn = holding.turning.turn
    return TurnUnderWay(
        turn_id=turn.pk,
        tenant_id=turn.tenant_id,
        conversation_id=turn.conversation_id,
        seconds=round(now - holding.begun_at, 1),
        waits_for_model=holding.is_thinking,
    )


@dataclass(frozen=True, slots=True)
class Beaten:
    """What a heartbeat found: turns that another worker holds by now, and turns that a person has stopped."""

    lost: list[Holding]
    stopped: list[Holding]


def beat_all(held: Sequence[Holding]) -> Beaten:
    """Extend the leases of all of them."""
    beaten = Beaten([], [])
    for tenant_id, ours in _by_tenant(held).items():
        still = beat(_fences(ours), actor=system_actor(tenant_id, "worker"))
        beaten.lost.extend(holding for holding in ours if holding.turning.turn.pk not in still)
        beaten.stopped.extend(holding for holding in ours if still.get(holding.turning.turn.pk) is False)
    return beaten


def interrupted(held: Sequence[Holding]) -> list[Holding]:
    """Those whose customers went on writing, so that they should begin anew."""
    found: list[Holding] = []
    for tenant_id, ours in _by_tenant(held).items():
        more = said_more(_fences(ours), actor=system_actor(tenant_id, "worker"))
        found.extend(holding for holding in ours if holding.turning.turn.pk in more)
    return found


def _by_tenant(held: Sequence[Holding]) -> dict[int, list[Holding]]:
    by_tenant: dict[int, list[Holding]] = defaultdict(list)
    for holding in held:
        by_tenant[holding.turning.turn.tenant_id].append(holding)
    return by_tenant


def _fences(held: Sequence[Holding]) -> dict[int, int]:
    return {holding.turning.turn.pk: holding.turning.turn.fence for holding in held}
