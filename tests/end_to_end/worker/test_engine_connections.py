"""The threads of the turn engine and their database connections."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
import pytest
from django.db import OperationalError, connection

from apps.launcher.postgres import Postgres
from apps.runtime.worker.db_thread_pool import ThreadConnections

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]


def process_of_the_server() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


@contextmanager
def open_thread(kept: ThreadConnections) -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1, initializer=kept.keep) as thread:
        yield thread
    kept.close()


def test_a_busy_thread_keeps_its_connection(database: str) -> None:
    with open_thread(kept := ThreadConnections()) as thread:
        used = {thread.submit(kept.lend, process_of_the_server).result() for _ in range(3)}
    assert len(used) == 1


def test_a_thread_that_was_idle_opens_another(database: str) -> None:
    with open_thread(kept := ThreadConnections(idle_seconds=0)) as thread:
        used = {thread.submit(kept.lend, process_of_the_server).result() for _ in range(3)}
    assert len(used) == 3


def test_a_connection_that_broke_is_given_up_with_the_call_that_met_it(database: str, postgres: Postgres) -> None:
    with open_thread(kept := ThreadConnections()) as thread:
        first = thread.submit(kept.lend, process_of_the_server).result()
        with psycopg.connect(postgres.url_for("postgres", database=database), autocommit=True) as raw:
            raw.execute("SELECT pg_terminate_backend(%s, 5000)", [first])
        with pytest.raises(OperationalError):
            thread.submit(kept.lend, process_of_the_server).result()
        assert thread.submit(kept.lend, process_of_the_server).result() != first
