"""The running product for a story in the browser: customers write by REST, and a real worker answers."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import TypeVar

from playwright.sync_api import Page

from apps.conversations.models import InboundEvent
from apps.demo.http_client import HttpVisitor
from apps.governance.database.actor_transaction import acting_as
from apps.runtime.models import Turn
from tests.support.drivers.conversation import CUSTOMER
from tests.support.servers.standin_model import StandIn
from tests.support.timeouts import PATIENCE_SECONDS
from tests.support.worlds.world import World

Found = TypeVar("Found")
_keys = count(1)


@dataclass(frozen=True)
class BrowserFlow:
    """Web, a Celery worker and beat on a database of their own, with a browser page and a scripted model."""

    url: str
    page: Page
    standin: StandIn

    def say(self, world: World, text: str, *, thread: str = "thread", customer: str = CUSTOMER, **more: object) -> Turn:
        """Send a customer's message by REST, as a shop's server does, and return the turn that a worker took."""
        body = {"channel": "http", "conversation_key": thread, "end_user_key": customer, "text": text} | more
        key = f"k{next(_keys)}"
        answer = HttpVisitor(self.url, world.token).send("POST", "/api/v1/messages/", body, Idempotency_Key=key)
        # 200 if a worker was done before the response left.
        assert answer.status in {200, 202}, answer.text
        event_id = answer.json["event_id"]
        return wait_for(lambda: _finished_turn(world, event_id), f"a turn for “{text}”")


def _finished_turn(world: World, event_id: int) -> Turn | None:
    with acting_as(world.system):
        event = InboundEvent.objects.get(pk=event_id)
        turns = Turn.objects.select_related("reply", "session", "conversation")
        ended = turns.filter(status__in=[Turn.Status.DONE, Turn.Status.FAILED])
        turn = ended.filter(pk=event.turn_id).first() if event.turn_id else None
    assert turn is None or turn.status == Turn.Status.DONE, turn.failure
    return turn


def wait_for(look: Callable[[], Found | None], what: str) -> Found:
    """Wait until `look` returns something that other processes bring about, and return it."""
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        found = look()
        if found:
            return found
        time.sleep(0.2)
    raise AssertionError(f"There was never {what}.")
