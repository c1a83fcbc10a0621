"""Customers who write in bursts through the API's action, and write again under the same key if they get no answer."""

import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import DatabaseError, InterfaceError, connection

from apps.conversations.actions import receive_message
from apps.governance.database.actor_transaction import acting_as
from apps.runtime.tools.tool_server_refresh import refresh_server
from apps.runtime.wakeup import wake_worker_on_commit
from apps.tenants.actions import amend_agent
from benchmarks.chaos.benchmark_setup import ChaosTestbed
from tests.support.drivers.external_tool_turns import allow_agent_tool
from tests.support.factories.external_tools import make_tool_server
from tests.support.servers.webhook_receiver import make_webhook
from tests.support.worlds.world import (
    World,
    make_invokable,
    make_memory,
    make_persona,
    make_skill,
    make_world,
    raise_message_limits,
)

TENANTS, CONVERSATIONS = 8, 400
LONGEST_BURST = 3
PAUSE_SECONDS = 0.05
# The stand-in takes a word with a digit in the customer's message for the key of another agent.
BILLING = "billing1"
# Messages that need only an answer, a write of the product, a skill to read, or the tools below.
MESSAGE_TEMPLATES = (
    "Message {number}: where is my parcel?",
    "Message {number}. I would prefer parcel shop {number}.",
    "Message {number}: please issue a refund within policy.",
    "Please track the status of order N{number}.",
    "Please cancel the subscription S{number}.",
    f"Please ask {BILLING} for an invoice balance. My task is the balance of invoice {{number}}.",
)
# An external tool that reads, one that writes and needs approval, and the question to another agent.
READS, WRITES, ASKS = "find_order", "refund_slowly", "delegate"
SKILLS = (
    ("Track an order", "How to track the status of an order.", READS),
    ("Cancel a subscription", "How to cancel a subscription.", WRITES),
    ("Quote an invoice balance", "How to find the balance of an invoice.", ASKS),
)


@dataclass(frozen=True, slots=True)
class Thread:
    """One customer's conversation."""

    world: World
    number: int


def make_threads(ground: ChaosTestbed) -> list[Thread]:
    """Make tenants, each with an agent, and the conversations of their customers."""
    worlds = [raise_message_limits(make_world()) for _ in range(TENANTS)]
    for number, world in enumerate(worlds):
        make_persona(world)
        if number % 2:
            amend_agent(world.agent, actor=world.admin, mid_turn_message_mode="restart")
        make_skill(world, "approved", title="Issue a refund", description="How to issue a refund within policy.")
        make_memory(world, "Most customers are in the EU. Parcels take three days.")
        _add_external_parts(world, ground)
    return [Thread(worlds[number % TENANTS], number) for number in range(CONVERSATIONS)]


def _add_external_parts(world: World, ground: ChaosTestbed) -> None:
    """Add external tools, another agent, and a webhook for all events."""
    server = make_tool_server(world, ground.tools.url)
    refresh_server(server.pk, actor=world.operator)
    called = {name: str(allow_agent_tool(world, server, name, waits=name == WRITES)) for name in (READS, WRITES)}
    make_invokable(world, BILLING)
    make_webhook(world, f"{ground.counter}/told")
    for title, description, name in SKILLS:
        body = f"## Procedure\n1. Call `{called.get(name, name)}`.\n"
        make_skill(world, "approved", title=title, description=description, body=body)


class SimulatedCustomers:
    """Customers who write from a thread of their own until they are stopped."""

    def __init__(self, threads: Sequence[Thread], seed: int, crowd: int) -> None:
        """`crowd`: they pause while so many conversations wait."""
        self._threads, self._crowd = threads, crowd
        self._random = random.Random(seed)
        self._stopped = threading.Event()
        self._writing = threading.Thread(target=self._write, name="customers", daemon=True)
        self.messages = self.repeated = 0
        self.waiting = 0

    def start(self) -> None:
        self._writing.start()

    def stop(self) -> None:
        """Return when the last message is received."""
        self._stopped.set()
        self._writing.join()

    def _write(self) -> None:
        try:
            while not self._stopped.is_set():
                if self.waiting >= self._crowd:
                    self._stopped.wait(PAUSE_SECONDS)
                    continue
                thread = self._random.choice(self._threads)
                # Two in three messages come alone.
                for _ in range(self._random.choice((1, 1, 1, 1, 2, LONGEST_BURST))):
                    self._send(thread)
        finally:
            connection.close()

    def _send(self, thread: Thread) -> None:
        """Send a message until it is received: the database may be down."""
        self.messages += 1
        text = self._random.choice(MESSAGE_TEMPLATES).format(number=self.messages)
        while not _is_taken(thread, text, str(self.messages)):
            self.repeated += 1
            time.sleep(PAUSE_SECONDS)


def _is_taken(thread: Thread, text: str, key: str) -> bool:
    try:
        send(thread, text, key)
    except (DatabaseError, InterfaceError):
        connection.close()
        return False
    return True


def send(thread: Thread, text: str, key: str) -> None:
    """Receive a message as the API does."""
    world = thread.world
    with acting_as(world.bot):
        event = receive_message(
            world.agent.pk,
            actor=world.bot,
            channel="http",
            conversation_key=f"thread-{thread.number}",
            end_user_key=f"http:customer-{thread.number}",
            text=text,
            idempotency_key=key,
        )
        wake_worker_on_commit(event.tenant_id, event.conversation_id)
