"""The heartbeat of a worker's turns: one statement per tenant."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from apps.runtime.turn_store.turn_journal import extend_leases, turns_to_restart
from apps.runtime.turns.turn_machine import TurnMachine
from apps.tenants.authentication.actor_resolution import system_actor


@dataclass(slots=True)
class RunningTurn:
    """A turn that runs in this process, and the task that waits for its model.

    `is_stopped` is set when a person stopped it, `has_new_messages` when its customer wrote again.
    """

    machine: TurnMachine
    task: asyncio.Task[None]
    begun_at: float = field(default_factory=time.monotonic)
    is_stopped: bool = False
    is_thinking: bool = False
    has_new_messages: bool = False

    @property
    def may_restart(self) -> bool:
        """Whether it waits for its model, and its agent is set to restart when messages arrive."""
        return self.is_thinking and self.machine.claimed.agent.begins_anew


@dataclass(frozen=True, slots=True)
class TurnUnderWay:
    """A running turn as its worker reports it, without any text. `seconds` count from the claim by this worker."""

    turn_id: int
    tenant_id: int
    conversation_id: int
    seconds: float
    waits_for_model: bool


def describe_turn(holding: RunningTurn, now: float) -> TurnUnderWay:
    """The report on a turn at this time of the monotonic clock."""
    turn = holding.machine.turn
    return TurnUnderWay(
        turn_id=turn.pk,
        tenant_id=turn.tenant_id,
        conversation_id=turn.conversation_id,
        seconds=round(now - holding.begun_at, 1),
        waits_for_model=holding.is_thinking,
    )


@dataclass(frozen=True, slots=True)
class HeartbeatResult:
    """The result of a heartbeat: turns that another worker has claimed, and turns that a person has stopped."""

    lost: list[RunningTurn]
    stopped: list[RunningTurn]


def extend_all_leases(held: Sequence[RunningTurn]) -> HeartbeatResult:
    """Extend the leases of all these turns."""
    beaten = HeartbeatResult([], [])
    for tenant_id, ours in _by_tenant(held).items():
        still = extend_leases(_fences(ours), actor=system_actor(tenant_id, "worker"))
        beaten.lost.extend(holding for holding in ours if holding.machine.turn.pk not in still)
        beaten.stopped.extend(holding for holding in ours if still.get(holding.machine.turn.pk) is False)
    return beaten


def find_interrupted(held: Sequence[RunningTurn]) -> list[RunningTurn]:
    """The turns whose customers wrote again, so that they should restart."""
    found: list[RunningTurn] = []
    for tenant_id, ours in _by_tenant(held).items():
        more = turns_to_restart(_fences(ours), actor=system_actor(tenant_id, "worker"))
        found.extend(holding for holding in ours if holding.machine.turn.pk in more)
    return found


def _by_tenant(held: Sequence[RunningTurn]) -> dict[int, list[RunningTurn]]:
    by_tenant: dict[int, list[RunningTurn]] = defaultdict(list)
    for holding in held:
        by_tenant[holding.machine.turn.tenant_id].append(holding)
    return by_tenant


def _fences(held: Sequence[RunningTurn]) -> dict[int, int]:
    return {holding.machine.turn.pk: holding.machine.turn.fence for holding in held}
