"""A worker dies around the statement that begins a turn anew; the turn ends once, with all that the customer wrote."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from django.db.backends.utils import CursorWrapper

from apps.llm.model_backend import ModelReply, ModelRequest
from apps.runtime.worker.sync_driver import answer_conversation
from apps.tenants.actions import amend_agent
from tests.durability.invariants import Bill, Effects, broken
from tests.support.drivers.conversation import expire_lease, lines, reply, send_customer_message, turn_of
from tests.support.drivers.dying_worker import PowerCutError
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_world

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]

RESTART = "SET round = turn.round + 1"
FIRST, SECOND = "Where is my order?", "It is number 12."
NEARBY_STATEMENTS = 3


@dataclass
class Statements:
    """Every statement of a worker in its order, and the one at which it dies."""

    at: int = 0
    side: str = "before"
    seen: list[str] = field(default_factory=list)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Wrap what the library sends everything through."""
        statements, execute = self, CursorWrapper.execute

        def executed(cursor: CursorWrapper, sql: Any, params: Any = None) -> Any:  # Any: the library's own
            statements.seen.append(str(sql))
            if len(statements.seen) == statements.at and statements.side == "before":
                raise PowerCutError
            result = execute(cursor, sql, params)
            if len(statements.seen) == statements.at:
                raise PowerCutError
            return result

        CursorWrapper.execute = executed  # type: ignore[assignment, method-assign]  # a seam of the library
        try:
            yield
        finally:
            CursorWrapper.execute = execute  # type: ignore[method-assign]


@dataclass
class InterruptedModel:
    """A model whose customer goes on writing while it thinks for the first time."""

    world: World
    standin: StandIn
    thread: str
    has_thought: bool = False

    def complete(self, request: ModelRequest) -> ModelReply:
        if not self.has_thought:
            self.has_thought = True
            send_customer_message(self.world, SECOND, thread=self.thread, key=f"{self.thread}-2")
        return self.standin.backend.complete(request)


def test_a_worker_may_die_where_a_turn_begins_anew(raw: psycopg.Connection[Any], standin: StandIn) -> None:
    # R126, R127
    standin.open_bill()
    world = make_world()
    amend_agent(world.agent, actor=world.admin, mid_turn_message_mode="restart")
    dry = Statements()
    check_crash(world, standin, dry)
    [here] = [place for place, sql in enumerate(dry.seen, 1) if RESTART in sql]
    for place in range(here - NEARBY_STATEMENTS, here + NEARBY_STATEMENTS + 1):
        for side in ("before", "after"):
            check_crash(world, standin, Statements(place, side))
    assert broken(raw, effects=Effects({}, {}), bill=Bill.shown(standin.bill())) == []


def check_crash(world: World, standin: StandIn, statements: Statements) -> None:
    thread = f"thread-{statements.at}-{statements.side}"
    model = InterruptedModel(world, standin, thread)
    event = send_customer_message(world, FIRST, thread=thread, key=f"{thread}-1")
    standin.play(*[reply("Number 12 is on its way.")] * 5)
    try:
        with statements.watched():
            answer_conversation(world.tenant.pk, event.conversation_id, backend=model)
    except PowerCutError:
        if (turn := turn_of(world, event)).status == turn.Status.RUNNING:
            expire_lease(world, turn)
        answer_conversation(world.tenant.pk, event.conversation_id, backend=model)
    expected_lines = [("customer", FIRST), ("customer", SECOND), ("agent", "Number 12 is on its way.")]
    assert lines(world, event.conversation_id) == expected_lines, f"{statements.side} {statements.at}"
    assert turn_of(world, event).round == 2
