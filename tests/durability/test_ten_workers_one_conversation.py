"""Ten workers' threads at one conversation: one turn runs at a time, and replies stand in the order of the messages."""

import random
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Lock
from time import sleep
from typing import Any

import psycopg
import pytest
from django.db import connections
from django.test import override_settings

from apps.launcher.child_processes import wait_until
from apps.launcher.postgres import Postgres
from apps.llm.model_backend import ModelReply, ModelRequest
from apps.runtime.turns.turn_machine import start_turn
from apps.runtime.worker.sync_driver import drive_turn
from tests.durability.invariants import Effects, broken
from tests.support.drivers.conversation import send_customer_message
from tests.support.parameter_sampling import whole_or
from tests.support.servers.standin_model import StandIn
from tests.support.timeouts import PATIENCE_SECONDS
from tests.support.worlds.world import World, make_world

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured, pytest.mark.whole]

WORKERS, MESSAGES = 10, whole_or(12, whole=30)
# Ten that never pause leave whoever has the turn hardly a moment of the interpreter.
PAUSE_SECONDS = 0.005
UNANSWERED_EVENTS = """
SELECT count(*) FROM conversations_inboundevent AS event LEFT JOIN runtime_turn AS turn ON turn.id = event.turn_id
 WHERE turn.id IS NULL OR turn.status = 'running'
"""
# Unlike `pg_stat_activity`, which stays as a transaction saw it first. The server is this test process's own.
LOCK_WAITERS = "SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted"
LOCK_EVENT = "SELECT id FROM conversations_inboundevent WHERE id = %s FOR UPDATE"
EXPIRE = "UPDATE runtime_turn SET lease_until = statement_timestamp() WHERE status = 'running' AND crashes < 3"


@dataclass
class CountingModel:
    """A model that knows how many of its callers wait at once, and lets them wait for so many seconds."""

    standin: StandIn
    seconds: float = 0
    lock: Lock = field(default_factory=Lock)
    waiting: int = 0
    most: int = 0

    def complete(self, request: ModelRequest) -> ModelReply:
        self._change_waiting(1)
        try:
            sleep(self.seconds)
            return self.standin.backend.complete(request)
        finally:
            self._change_waiting(-1)

    def _change_waiting(self, more: int) -> None:
        with self.lock:
            self.waiting += more
            self.most = max(self.most, self.waiting)


@dataclass(frozen=True)
class WorkerCrowd:
    """Workers that look at one conversation all the time."""

    world: World
    model: CountingModel
    conversation_id: int
    over: Event = field(default_factory=Event)

    def work(self) -> int:
        """How many turns this worker drove."""
        taken = 0
        try:
            while not self.over.is_set():
                if machine := start_turn(self.world.tenant.pk, self.conversation_id):
                    taken += 1
                    drive_turn(machine, self.model)
                else:
                    self.over.wait(PAUSE_SECONDS)
        finally:
            connections.close_all()
        return taken

    @contextmanager
    def at_work(self) -> Iterator[list[Future[int]]]:
        """All of them at once, until the block ends."""
        with ThreadPoolExecutor(WORKERS) as threads:
            try:
                yield [threads.submit(self.work) for _ in range(WORKERS)]
            finally:
                self.over.set()


def is_all_answered(raw: psycopg.Connection[Any]) -> bool:
    """Whether nothing waits any more."""
    [(waiting,)] = raw.execute(UNANSWERED_EVENTS).fetchall()
    raw.commit()
    return bool(waiting == 0)


@pytest.fixture(autouse=True)
def customers_write_faster_than_people_can() -> Iterator[None]:
    with override_settings(LOOP_TURNS=0):
        yield


def make_crowd(world: World, standin: StandIn) -> WorkerCrowd:
    return WorkerCrowd(world, CountingModel(standin), send_customer_message(world, "Message 0").conversation_id)


def test_ten_threads_run_one_turn_at_a_time(raw: psycopg.Connection[Any], standin: StandIn) -> None:
    # R070, R126
    world = make_world()
    crowd, chance = make_crowd(world, standin), random.Random(7)
    with crowd.at_work() as workers:
        for number in range(1, MESSAGES):
            send_customer_message(world, f"Message {number}")
            sleep(chance.random() * 0.1)
        assert wait_until(lambda: is_all_answered(raw), 2 * PATIENCE_SECONDS, 0.1), "something still waits"
    assert crowd.model.most == 1
    assert sum(worker.result() for worker in workers) > 1
    assert broken(raw, effects=Effects(), bill=None) == []


def test_a_message_that_another_claim_looks_at_is_not_passed_over(raw: psycopg.Connection[Any]) -> None:
    # R126: that claim may come to nothing, where a turn ran until a moment ago.
    world = make_world()
    first, second = send_customer_message(world, "First"), send_customer_message(world, "Second")
    raw.execute(LOCK_EVENT, [first.pk])
    with ThreadPoolExecutor(1) as threads:
        begun = threads.submit(answer_in_thread, world, first.conversation_id)
        met = wait_until(lambda: begun.done() or count_lock_waiters(raw) > 0, PATIENCE_SECONDS, 0.01)
        raw.commit()
        turn_id = begun.result()
    assert met, "the other claim was neither waited for nor passed by"
    rows = raw.execute("SELECT id, turn_id FROM conversations_inboundevent ORDER BY id").fetchall()
    assert rows == [(first.pk, turn_id), (second.pk, turn_id)]


def test_two_claims_of_a_conversation_never_wait_for_each_other(
    raw: psycopg.Connection[Any], committing: str, postgres: Postgres
) -> None:
    # R126: one looks at the messages while the turn runs still, the other as soon as its lease has run out.
    world = make_world()
    running = start_turn(world.tenant.pk, send_customer_message(world, "First").conversation_id)
    assert running is not None
    second = send_customer_message(world, "Second")
    with (
        psycopg.connect(postgres.url_for("postgres", database=committing)) as holding,
        ThreadPoolExecutor(2) as threads,
    ):
        holding.execute(LOCK_EVENT, [second.pk])
        claims = [threads.submit(answer_in_thread, world, second.conversation_id)]
        assert wait_until(lambda: count_lock_waiters(raw) == 1, PATIENCE_SECONDS, 0.01), "nobody looks at the message"
        raw.execute(EXPIRE)
        raw.commit()
        claims.append(threads.submit(answer_in_thread, world, second.conversation_id))
        assert wait_until(lambda: count_lock_waiters(raw) == 2, PATIENCE_SECONDS, 0.01), "the other claim does not wait"
        holding.commit()
        assert [claim.result() for claim in claims] == [None, running.turn.pk]


def answer_in_thread(world: World, conversation_id: int) -> int | None:
    """The turn that was begun, if one was."""
    try:
        machine = start_turn(world.tenant.pk, conversation_id)
        return machine.turn.pk if machine else None
    finally:
        connections.close_all()


def count_lock_waiters(raw: psycopg.Connection[Any]) -> int:
    """Connections that wait for another's lock."""
    [(waiting,)] = raw.execute(LOCK_WAITERS).fetchall()
    return int(waiting)


def test_order_is_kept_while_leases_run_out_under_the_workers(raw: psycopg.Connection[Any], standin: StandIn) -> None:
    # R126
    world = make_world()
    crowd, chance = make_crowd(world, standin), random.Random(11)
    # So that most leases run out while a worker waits for the model.
    crowd.model.seconds = 0.05
    with crowd.at_work() as workers:
        for number in range(1, 20 * MESSAGES):
            send_customer_message(world, f"Message {number}")
            sleep(chance.random() * 0.1)
            raw.execute(EXPIRE)
            raw.commit()
            # On a busy machine a lease is often longer again before anybody looks.
            if number >= MESSAGES and has_takeover(raw):
                break
        assert wait_until(lambda: is_all_answered(raw), 2 * PATIENCE_SECONDS, 0.1), "something still waits"
    assert broken(raw, effects=Effects(), bill=None) == []
    assert has_takeover(raw), "no worker was overtaken, so nothing was tried"
    assert sum(worker.result() for worker in workers) > 1


def has_takeover(raw: psycopg.Connection[Any]) -> bool:
    """Whether a worker lost its turn to another."""
    [(overtaken,)] = raw.execute("SELECT count(*) > 0 FROM runtime_turn WHERE crashes > 0").fetchall()
    return bool(overtaken)
