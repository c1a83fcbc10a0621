"""Many turns of one agent are kept at the same moment, and what they spent is counted to the last token."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from django.db import connections

from apps.runtime.worker.sync_driver import answer_conversation
from tests.durability.invariants import Effects, broken
from tests.support.drivers.conversation import send_customer_message
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_world

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]

CUSTOMERS, MESSAGES = 6, 4


def run_conversation(world: World, standin: StandIn, number: int) -> None:
    """One customer's conversation, in a thread of its own."""
    try:
        for at in range(MESSAGES):
            customer = {"thread": f"thread-{number}", "customer": f"http:{number}"}
            event = send_customer_message(world, f"Message {at}", key=f"{number}-{at}", **customer)
            answer_conversation(world.tenant.pk, event.conversation_id, backend=standin.backend)
    finally:
        connections.close_all()


def test_what_many_turns_spend_at_once_is_counted_exactly(raw: psycopg.Connection[Any], standin: StandIn) -> None:
    # R166
    world = make_world()
    with ThreadPoolExecutor(CUSTOMERS) as threads:
        for ended in [threads.submit(run_conversation, world, standin, number) for number in range(CUSTOMERS)]:
            ended.result()
    assert broken(raw, effects=Effects({}, {}), bill=None) == []
    [(calls, spent)] = raw.execute(
        "SELECT (SELECT count(*) FROM runtime_modelcall), (SELECT sum(calls) FROM runtime_spend)"
    ).fetchall()
    assert calls == spent >= CUSTOMERS * MESSAGES
