"""Chooses the next turn fairly among tenants if more turns wait than a worker may run; pure."""

from collections import OrderedDict
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import count
from typing import NamedTuple

RESERVED_PER_SLOTS = 10
# How many outdated places are allowed beyond the number of valid ones before they are removed.
OUTDATED_KEPT = 64


class _QueuePosition(NamedTuple):
    """A tenant's place in the order: fewest running turns first, then the longest time without service."""

    running: int
    since: int
    tenant_id: int


@dataclass(slots=True)
class _TenantQueue:
    """One tenant's conversations: waiting ones in order, running ones, and running ones to be run again."""

    since: int
    waiting: OrderedDict[int, None] = field(default_factory=OrderedDict)
    running: set[int] = field(default_factory=set)
    again: set[int] = field(default_factory=set)

    def place(self, tenant_id: int) -> _QueuePosition:
        return _QueuePosition(len(self.running), self.since, tenant_id)


class FairQueue:
    """Shares the slots of one worker among the tenants.

    While a tenant without a running turn waits, no other tenant is served twice. A single tenant cannot use the last tenth of the
    slots, so a tenant that floods the queue leaves slots for others.
    """

    def __init__(self, limit: int, reserve: int | None = None) -> None:
        """`limit` is the most turns at once; `reserve` of them no single tenant can use, by default a tenth."""
        if limit < 1:
            raise ValueError(f"A worker holds at least one turn, not {limit}.")
        self.limit = limit
        self.per_tenant = max(1, limit - (-(-limit // RESERVED_PER_SLOTS) if reserve is None else reserve))
        self._tenants: dict[int, _TenantQueue] = {}
        self._places: list[_QueuePosition] = []
        self._moments = count()
        self._running = 0
        self._tenants_waiting = 0

    @property
    def free(self) -> int:
        """The number of free slots."""
        return self.limit - self._running

    @property
    def next_tenant(self) -> int | None:
        """The tenant whose turn `take` would return; None if `take` would return None."""
        place = self._first_valid() if self.free else None
        return None if place is None or place.running >= self.per_tenant else place.tenant_id

    def add(self, tenant_id: int, conversation_id: int) -> None:
        """Queue a conversation; adding it twice has no effect. One that is running will run again."""
        tenant = self._tenants.get(tenant_id)
        if tenant is None:
            tenant = self._tenants[tenant_id] = _TenantQueue(next(self._moments))
        if conversation_id in tenant.running:
            tenant.again.add(conversation_id)
        else:
            self._enqueue(tenant_id, tenant, conversation_id)

    def take(self) -> tuple[int, int] | None:
        """The tenant and conversation to run now; None if none waits or no slot may be given."""
        tenant_id = self.next_tenant
        if tenant_id is None:
            return None
        heappop(self._places)
        tenant = self._tenants[tenant_id]
        conversation_id, _ = tenant.waiting.popitem(last=False)
        tenant.running.add(conversation_id)
        tenant.since = next(self._moments)
        self._running += 1
        if tenant.waiting:
            self._push_position(tenant.place(tenant_id))
        else:
            self._tenants_waiting -= 1
        return tenant_id, conversation_id

    def ended(self, tenant_id: int, conversation_id: int) -> None:
        """Free the slot. A conversation that was added meanwhile waits again, after the others of its tenant."""
        tenant = self._tenants.get(tenant_id)
        if tenant is None or conversation_id not in tenant.running:
            raise ValueError(f"Conversation {conversation_id} of tenant {tenant_id} runs no turn here.")
        tenant.running.remove(conversation_id)
        self._running -= 1
        if tenant.waiting:
            self._push_position(tenant.place(tenant_id))
        if conversation_id in tenant.again:
            tenant.again.remove(conversation_id)
            self._enqueue(tenant_id, tenant, conversation_id)
        elif not tenant.waiting and not tenant.running:
            del self._tenants[tenant_id]

    def _enqueue(self, tenant_id: int, tenant: _TenantQueue, conversation_id: int) -> None:
        if not tenant.waiting:
            tenant.since = next(self._moments)
            self._tenants_waiting += 1
            self._push_position(tenant.place(tenant_id))
        tenant.waiting[conversation_id] = None

    def _first_valid(self) -> _QueuePosition | None:
        while self._places:
            place = self._places[0]
            if self._is_valid(place):
                return place
            heappop(self._places)
        return None

    def _is_valid(self, place: _QueuePosition) -> bool:
        tenant = self._tenants.get(place.tenant_id)
        return tenant is not None and bool(tenant.waiting) and tenant.place(place.tenant_id) == place

    def _push_position(self, place: _QueuePosition) -> None:
        """Add a tenant's new place. Old places are outdated rather than moved, and removed once they are the majority."""
        if len(self._places) > OUTDATED_KEPT + 2 * self._tenants_waiting:
            self._places = [place for place in self._places if self._is_valid(place)]
            heapify(self._places)
        heappush(self._places, place)
