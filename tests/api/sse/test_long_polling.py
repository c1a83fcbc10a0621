"""Waiting for a reply that another process writes meanwhile, on a database where things are committed."""

from dataclasses import dataclass, field
from threading import Thread
from time import sleep

import pytest
from django.db import connection, connections

from apps.conversations.models import InboundEvent
from apps.governance.database.actor_transaction import acting_as
from tests.support.drivers.rest_client import agent_client, answer_event
from tests.support.timeouts import PATIENCE_SECONDS
from tests.support.worlds.world import World, make_world

BODY = {"conversation_key": "thread-1", "end_user_key": "http:abc123", "text": "Where is my parcel?"}


@pytest.fixture
def committed(committing: str) -> World:
    """A tenant in a database of its own, where every transaction is real."""
    return make_world()


@dataclass
class Worker:
    """Answers the first message that arrives, after a look at what the waiting request holds meanwhile."""

    world: World
    states_seen: set[str] = field(default_factory=set)

    def run(self) -> None:
        """In a thread, with a connection of its own."""
        try:
            event = self.first_event()
            for _ in range(10):
                self.look_at_the_other()
                sleep(0.05)
            answer_event(self.world, event, "It is on its way.")
        finally:
            connections.close_all()

    def first_event(self) -> InboundEvent:
        while True:
            with acting_as(self.world.system):
                if event := InboundEvent.objects.first():
                    return event

    def look_at_the_other(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT state FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
                " AND usename = current_user"
            )
            self.states_seen |= {state for (state,) in cursor.fetchall()}


@pytest.mark.slow
def test_reply_that_comes_while_waiting_is_the_answer_and_no_transaction_waits_for_it(committed: World) -> None:
    # R127
    worker = Worker(committed)
    thread = Thread(target=worker.run, daemon=True)
    thread.start()
    answer = agent_client(committed).post("messages/?wait=60", BODY, Idempotency_Key="k1")
    thread.join(PATIENCE_SECONDS)
    assert (answer.status, answer.body["reply"]["text"]) == (200, "It is on its way.")
    # A transaction left open would show as nothing but "idle in transaction".
    assert "idle" in worker.states_seen
