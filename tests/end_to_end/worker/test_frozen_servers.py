"""A broker or a database that is frozen: it accepts connections and does not answer."""

from typing import Any

import psycopg
import pytest

from apps.demo.http_client import HttpVisitor
from apps.launcher.child_processes import wait_until
from apps.launcher.postgres import Postgres
from tests.end_to_end.worker.test_crash_recovery import make_answered_world, post, wait_until_finished
from tests.support.servers.frozen_processes import frozen
from tests.support.servers.running_product import RunningProduct
from tests.support.timeouts import PATIENCE_SECONDS

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]

DATABASE_PROCESSES = """
SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::integer
UNION SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()
"""


def broker_process(product: RunningProduct) -> int:
    return int(product.broker.info("server")["process_id"])


def database_processes(postgres: Postgres) -> list[int]:
    with psycopg.connect(postgres.url) as connection:
        return [process_id for (process_id,) in connection.execute(DATABASE_PROCESSES)]


def readiness(product: RunningProduct) -> tuple[int, dict[str, Any]]:
    answer = HttpVisitor(product.url).get("/readyz")
    return answer.status, answer.json


def test_messages_are_taken_and_answered_while_the_broker_is_frozen(own_product: RunningProduct) -> None:
    # R118
    world = make_answered_world()
    own_product.start_web()
    own_product.start_worker()
    own_product.await_ready()
    # The first one leaves a connection to the broker, on which the next one finds that the broker does not answer.
    events = [post(own_product, world, "first")]
    with frozen(broker_process(own_product)):
        events += [post(own_product, world, key) for key in ("second", "third")]
        status, found = readiness(own_product)
        assert (status, found["status"]) == (200, "degraded")
        assert found["parts"]["broker"].startswith("cannot be reached")
        assert wait_until_finished(world, *events)
    assert wait_until(lambda: readiness(own_product)[1]["parts"]["broker"] == "well", PATIENCE_SECONDS, 0.2)


def test_readiness_answers_while_the_database_is_frozen(own_product: RunningProduct, postgres: Postgres) -> None:
    own_product.start_web()
    own_product.await_ready()
    assert wait_until(lambda: readiness(own_product)[0] == 200, PATIENCE_SECONDS, 0.2)
    with frozen(*database_processes(postgres)):
        status, found = readiness(own_product)
        assert (status, found["status"]) == (503, "not ready")
        assert found["parts"] == {"database": "does not answer", "broker": "well"}
    assert wait_until(lambda: readiness(own_product)[0] == 200, PATIENCE_SECONDS, 0.2)
