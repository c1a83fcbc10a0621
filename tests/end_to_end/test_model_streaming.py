"""An answer heard while it is said, over real sockets; and a call that is stopped hangs up."""

import json
import socket
import threading
from collections.abc import Callable, Iterator

import pytest
from django.db.models import F

from apps.conversations.actions import take_over_conversation
from apps.conversations.models import Conversation
from apps.governance.database.actor_transaction import acting_as
from apps.kill_switches.actions import activate_kill_switch
from apps.kill_switches.models import KillSwitch
from apps.launcher.child_processes import wait_until
from apps.llm.anthropic.async_client import async_backend_at
from apps.llm.model_backend import Listener
from apps.runtime.models import Turn
from apps.runtime.turn_store.turn_claim import TurnClaim
from apps.runtime.turns.model_loop import CALL_SECONDS
from apps.runtime.worker.engine import Engine, EngineLimits
from apps.standin.thread_server import run_standin_thread
from tests.support.timeouts import PATIENCE_SECONDS
from tests.support.worlds.world import World, make_event, make_persona, make_world

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]

LIMITS = EngineLimits(in_flight=5, threads=2, poll_seconds=0.5, lease_seconds=3)
START = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "slow",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
}
BLOCK = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
DELTA = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "One moment"}}


class EndlessEndpoint:
    """An endpoint that begins one answer and never ends it; it knows when the caller hangs up."""

    def __init__(self) -> None:
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.hung_up = threading.Event()
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}"
        threading.Thread(target=self._stream_forever, daemon=True).start()

    def _stream_forever(self) -> None:
        connection, _ = self.listening.accept()
        with connection:
            connection.recv(1_000_000)
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
            for event in (START, BLOCK, DELTA):
                connection.sendall(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
            while connection.recv(65_536):
                pass
        self.hung_up.set()


@pytest.fixture
def endless() -> Iterator[EndlessEndpoint]:
    endpoint = EndlessEndpoint()
    yield endpoint
    endpoint.listening.close()


def world_with_a_customer() -> World:
    world = make_world()
    make_persona(world)
    make_event(world, idempotency_key="1")
    return world


def only_turn(world: World) -> Turn | None:
    with acting_as(world.system):
        return Turn.objects.first()


def is_turn_done(world: World) -> bool:
    turn = only_turn(world)
    return turn is not None and turn.status == Turn.Status.DONE


def test_who_listens_hears_the_answer_as_it_is_said_and_a_failing_listener_costs_nothing(database: str) -> None:  # R131
    world, heard = world_with_a_customer(), []

    def look_up_listener(claimed: TurnClaim) -> Listener:
        def listen(text: str) -> None:
            heard.append((claimed.turn.tenant_id, text))
            if len(heard) > 1:
                raise ValueError("The line is dead.")

        return listen

    with run_standin_thread() as url:
        engine = Engine(lambda: async_backend_at("stand-in", url, connections=5), LIMITS, listeners=look_up_listener)
        engine.start()
        try:
            assert wait_until(lambda: is_turn_done(world), PATIENCE_SECONDS, 0.2)
        finally:
            engine.stop(drain_seconds=2)
    turn = only_turn(world)
    assert turn is not None
    with acting_as(world.system):
        assert turn.reply is not None
        reply = turn.reply.text
    assert len(heard) == 2
    assert reply.startswith("".join(text for _, text in heard))
    assert {tenant_id for tenant_id, _ in heard} == {world.tenant.pk}


def pause_agent(world: World) -> None:
    activate_kill_switch(KillSwitch.Kind.PAUSE_AGENT, actor=world.operator, reason="Stop.", agent_id=world.agent.pk)


def take_over(world: World) -> None:
    with acting_as(world.operator):
        conversation = Conversation.objects.get()
    take_over_conversation(conversation, actor=world.operator)


def lose_turn(world: World) -> None:
    """Another worker takes the turn."""
    with acting_as(world.system):
        Turn.objects.update(fence=F("fence") + 1)


@pytest.mark.parametrize(
    ("happens", "status", "code"),
    [(pause_agent, "running", "stopped"), (take_over, "cancelled", "taken_over"), (lose_turn, "running", "")],
)
def test_a_call_that_nobody_waits_for_closes_its_stream(
    endless: EndlessEndpoint, database: str, happens: Callable[[World], None], status: str, code: str
) -> None:
    # R126, R131
    world, heard = world_with_a_customer(), threading.Event()
    engine = Engine(
        lambda: async_backend_at("a-key", endless.url, connections=5), LIMITS, listeners=lambda _: lambda _: heard.set()
    )
    engine.start()
    try:
        assert heard.wait(PATIENCE_SECONDS)
        assert not endless.hung_up.is_set()
        happens(world)
        assert endless.hung_up.wait(CALL_SECONDS / 2), "it is not the end of the call's own time"
    finally:
        engine.stop(drain_seconds=2)
    turn = only_turn(world)
    assert turn is not None
    assert (turn.status, turn.failure_code) == (status, code)
