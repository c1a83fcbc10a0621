"""The deliveries that a worker sends next: within the limits, tenants in turn, each tenant's in the given order."""

from apps.runtime.webhook_delivery.delivery_queue import DeliveryQueue

FLOOD, OTHER = 1, 2


def take_all(queue: DeliveryQueue) -> list[tuple[int, int]]:
    found = []
    while picked := queue.take():
        found.append(picked)
    return found


def test_a_tenants_deliveries_begin_in_order_as_far_as_its_limit_allows() -> None:
    queue = DeliveryQueue(in_flight=10, per_tenant=2)
    queue.replace([(FLOOD, 5), (FLOOD, 3), (FLOOD, 4)])
    assert take_all(queue) == [(FLOOD, 5), (FLOOD, 3)]
    assert not queue.is_empty
    queue.ended(FLOOD, 3)
    assert take_all(queue) == [(FLOOD, 4)]
    assert queue.is_empty


def test_a_flood_of_one_tenant_keeps_no_other_waiting() -> None:
    queue = DeliveryQueue(in_flight=3, per_tenant=3)
    queue.replace([*((FLOOD, number) for number in range(5)), (OTHER, 10), (OTHER, 11)])
    assert take_all(queue) == [(FLOOD, 0), (OTHER, 10), (FLOOD, 1)]
    queue.ended(FLOOD, 0)
    assert take_all(queue) == [(OTHER, 11)]


def test_what_was_found_later_takes_the_place_of_what_waits_and_nothing_runs_twice() -> None:
    queue = DeliveryQueue(in_flight=10, per_tenant=1)
    queue.replace([(FLOOD, 1), (FLOOD, 2)])
    assert queue.take() == (FLOOD, 1)
    queue.replace([(FLOOD, 1), (FLOOD, 3)])
    queue.ended(FLOOD, 1)
    assert take_all(queue) == [(FLOOD, 3)]
