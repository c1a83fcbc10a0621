"""A worker's connection to a broker that goes away while the worker holds a message."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis
from kombu import Connection, Queue

from apps.launcher.valkey import Valkey
from config.celery import ProductCelery, app
from config.task_publishing import TaskPublisher
from tests.support.servers.frozen_processes import frozen

QUEUE = "celery"


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[Valkey]:
    server = Valkey(tmp_path, throwaway=True)
    server.start()
    yield server
    server.stop()


@contextmanager
def message_in_hand(valkey: Valkey) -> Iterator[Connection]:
    """A worker's connection that took a message and has not said that it is done with it."""
    held: list[Any] = []  # Any: kombu's own messages
    connection = app.connection_for_read(valkey.url)
    with connection.Consumer(Queue(QUEUE), on_message=held.append):
        connection.Producer().publish({}, routing_key=QUEUE)
        connection.drain_events(timeout=10)
        assert len(held) == 1
        yield connection


def test_a_connection_taken_apart_still_closes_with_a_message_in_hand(valkey: Valkey) -> None:
    with message_in_hand(valkey) as connection:
        valkey.stop()
        # What kombu's `collect` leaves behind where a channel would not close at once; Celery closes once more.
        connection._do_close_transport()
        connection.close()
    assert not connection.connected


def test_what_a_worker_leaves_unfinished_stays_with_the_broker(valkey: Valkey) -> None:
    with message_in_hand(valkey) as connection:
        connection.close()
    with redis.Redis.from_url(valkey.client_url) as client:
        assert (client.hlen("unacked"), client.llen(QUEUE)) == (1, 0)


def test_publisher_gives_up_on_a_frozen_broker_and_then_asks_it_nothing_for_a_while(valkey: Valkey) -> None:
    publisher = TaskPublisher(ProductCelery("publisher", broker=valkey.url, set_as_current=False))
    with redis.Redis.from_url(valkey.client_url) as client:
        assert publisher.publish("task", 1)
        with frozen(int(client.info("server")["process_id"])):
            assert not publisher.publish("task", 2)
        # The broker answers again, and is not asked.
        client.ping()
        assert not publisher.publish("task", 3)
