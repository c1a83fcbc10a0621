"""Many tenants share a worker's slots: nobody starves, nobody takes all, no conversation runs twice at once."""

import tracemalloc
from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from apps.runtime.worker.fair_queue import FairQueue

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

TENANTS = st.integers(1, 5)
CONVERSATIONS = st.integers(1, 6)


class FairQueueMachine(RuleBasedStateMachine):
    """Whatever comes and ends in whatever order, beside plain sets that say what should be so."""

    def __init__(self) -> None:
        super().__init__()
        self.fair = FairQueue(5)
        self.waiting: set[tuple[int, int]] = set()
        self.running: set[tuple[int, int]] = set()
        self.again: set[tuple[int, int]] = set()
        # Who was served since a tenant without a running turn began to wait.
        self.served: dict[int, list[int]] = {}

    def begins_to_wait(self) -> None:
        busy = {tenant for tenant, _ in self.running}
        idle = {tenant for tenant, _ in self.waiting} - busy
        self.served = {tenant: self.served.get(tenant, []) for tenant in idle}

    @rule(tenant=TENANTS, conversation=CONVERSATIONS)
    def add(self, tenant: int, conversation: int) -> None:
        self.fair.add(tenant, conversation)
        pair = (tenant, conversation)
        (self.again if pair in self.running else self.waiting).add(pair)
        self.begins_to_wait()

    @rule()
    def take(self) -> None:
        per_tenant = Counter(tenant for tenant, _ in self.running)
        eligible = {tenant for tenant, _ in self.waiting if per_tenant[tenant] < 4}
        foreseen = self.fair.next_tenant
        taken = self.fair.take()
        assert foreseen == (taken[0] if taken else None)
        if taken is None:
            assert not eligible or len(self.running) == 5
            return
        assert taken in self.waiting
        assert per_tenant[taken[0]] == min(per_tenant[tenant] for tenant in eligible)
        self.waiting.remove(taken)
        self.running.add(taken)
        for served in self.served.values():
            served.append(taken[0])
        self.begins_to_wait()

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def ended(self, data: st.DataObject) -> None:
        pair = data.draw(st.sampled_from(sorted(self.running)))
        self.fair.ended(*pair)
        self.running.remove(pair)
        if pair in self.again:
            self.again.remove(pair)
            self.waiting.add(pair)
        self.begins_to_wait()

    @invariant()
    def nobody_is_passed_over_twice(self) -> None:
        for served in self.served.values():
            assert len(served) == len(set(served))

    @invariant()
    def limits_hold(self) -> None:
        assert len(self.running) <= 5
        assert self.fair.free == 5 - len(self.running)
        assert max(Counter(tenant for tenant, _ in self.running).values(), default=0) <= 4

    def teardown(self) -> None:
        """Whatever was added runs in the end, the repeated ones once more."""
        for _ in range(2 * (len(self.waiting) + len(self.running) + len(self.again)) + 2):
            for pair in sorted(self.running):
                self.fair.ended(*pair)
                self.running.remove(pair)
                if pair in self.again:
                    self.again.remove(pair)
                    self.waiting.add(pair)
            while taken := self.fair.take():
                self.waiting.remove(taken)
                self.running.add(taken)
        assert not self.waiting
        assert not self.running


TestSharing = FairQueueMachine.TestCase
TestSharing.settings = settings(max_examples=60, stateful_step_count=60, deadline=None)


def take_all(fair: FairQueue) -> list[tuple[int, int]]:
    """Everything that may run now."""
    taken = []
    while pair := fair.take():
        taken.append(pair)
    return taken


def test_a_tenant_that_floods_leaves_room_for_the_next_one() -> None:
    fair = FairQueue(20)
    for conversation in range(1000):
        fair.add(1, conversation)
    assert len(take_all(fair)) == 18
    fair.add(2, 7)
    assert fair.take() == (2, 7)


def test_a_flood_is_served_between_the_others_and_not_before_them() -> None:
    fair = FairQueue(1)
    for conversation in range(100):
        fair.add(1, conversation)
    fair.add(2, 500)
    fair.add(3, 600)
    order = []
    for _ in range(5):
        taken = fair.take()
        assert taken is not None
        order.append(taken)
        fair.ended(*taken)
    assert order == [(1, 0), (2, 500), (3, 600), (1, 1), (1, 2)]


def test_conversations_of_a_tenant_run_in_the_order_in_which_they_came() -> None:
    fair = FairQueue(10)
    for conversation in (5, 3, 9, 3):
        fair.add(1, conversation)
    assert take_all(fair) == [(1, 5), (1, 3), (1, 9)]


def test_a_conversation_added_while_it_runs_runs_once_more_and_behind_the_others() -> None:
    fair = FairQueue(10, reserve=8)
    for conversation in (1, 2, 3):
        fair.add(1, conversation)
    assert take_all(fair) == [(1, 1), (1, 2)]
    fair.add(1, 1)
    fair.add(1, 1)
    assert take_all(fair) == []
    fair.ended(1, 1)
    assert take_all(fair) == [(1, 3)]
    fair.ended(1, 2)
    assert take_all(fair) == [(1, 1)]
    fair.ended(1, 1)
    fair.ended(1, 3)
    assert take_all(fair) == []


def test_the_reserve_may_be_given_and_one_slot_is_always_left_to_a_tenant() -> None:
    for limit, reserve, per_tenant in ((1, None, 1), (4, None, 3), (500, None, 450), (500, 0, 500), (4, 9, 1)):
        fair = FairQueue(limit, reserve)
        for conversation in range(600):
            fair.add(1, conversation)
        assert len(take_all(fair)) == per_tenant


def test_a_worker_without_slots_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one turn"):
        FairQueue(0)


def test_what_does_not_run_cannot_end() -> None:
    fair = FairQueue(2)
    with pytest.raises(ValueError, match="runs no turn here"):
        fair.ended(1, 1)
    fair.add(1, 1)
    with pytest.raises(ValueError, match="runs no turn here"):
        fair.ended(1, 1)


def test_a_worker_that_runs_for_long_remembers_no_more_than_it_must() -> None:
    fair = FairQueue(8)
    for tenant in range(4):
        for conversation in range(3):
            fair.add(tenant, conversation)
    busy = take_all(fair)
    tracemalloc.start()
    for moment in range(3000):
        tenant, conversation = busy[moment % len(busy)]
        fair.add(tenant, conversation)
        fair.ended(tenant, conversation)
        taken = fair.take()
        assert taken is not None
        busy[moment % len(busy)] = taken
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 64_000
