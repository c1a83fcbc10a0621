"""The deliveries that one worker sends next, within its limits and shared among tenants; pure."""

from collections import Counter, deque
from collections.abc import Iterable


class DeliveryQueue:
    """Chooses the next delivery: of the tenant with the fewest running ones, in the order in which its deliveries were found."""

    def __init__(self, in_flight: int, per_tenant: int) -> None:
        """`in_flight` is the most deliveries at once, `per_tenant` the most of one tenant."""
        self._in_flight = in_flight
        self._per_tenant = per_tenant
        self._waiting: dict[int, deque[int]] = {}
        self._running: set[int] = set()
        self._of_tenant: Counter[int] = Counter()

    @property
    def is_empty(self) -> bool:
        """Whether no delivery waits for its place."""
        return not self._waiting

    def replace(self, due: Iterable[tuple[int, int]]) -> None:
        """Let these (tenant id, delivery id) wait, in this order, in place of those found earlier. Running ones are left out."""
        self._waiting.clear()
        for tenant_id, delivery_id in due:
            if delivery_id not in self._running:
                self._waiting.setdefault(tenant_id, deque()).append(delivery_id)

    def take(self) -> tuple[int, int] | None:
        """The tenant and delivery to begin now; None if none waits or the limits are reached."""
        free = [tenant_id for tenant_id in self._waiting if self._of_tenant[tenant_id] < self._per_tenant]
        if not free or len(self._running) >= self._in_flight:
            return None
        tenant_id = min(free, key=lambda each: self._of_tenant[each])
        waiting = self._waiting.pop(tenant_id)
        delivery_id = waiting.popleft()
        if waiting:
            # Behind the other tenants, who come first when equally many of theirs run.
            self._waiting[tenant_id] = waiting
        self._running.add(delivery_id)
        self._of_tenant[tenant_id] += 1
        return tenant_id, delivery_id

    def ended(self, tenant_id: int, delivery_id: int) -> None:
        """Free the place of a delivery."""
        self._running.remove(delivery_id)
        self._of_tenant -= Counter([tenant_id])
