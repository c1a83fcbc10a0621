"""A worker dies around the commit in which an agent asks another, or in which that one answers: one question, one answer."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest

from apps.conversations.models import Conversation, InboundEvent
from apps.governance.acting import acting
from apps.llm.backend import Reply, Request
from apps.runtime.driving import answer
from apps.runtime.models import Turn
from tests.actions.conversing import lease_runs_out, lines, reply, tell, tool
from tests.durability.invariants import Bill, Effects, broken
from tests.durability.test_dying_anew import PowerCutError, Statements
from tests.factories import World, make_invokable, make_world
from tests.standing_in import StandIn

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]

QUESTION, ASKED, ANSWERED, TOLD = "What do I owe?", "What is owed?", "Forty euros.", "You owe forty euros."
WAIT = "One moment, please."
NEAR = 1


@dataclass
class Family:
    """A model that knows by what it is told whose turn it is, however often it is asked."""

    standin: StandIn
    asked: list[str] = field(default_factory=list)

    def complete(self, request: Request) -> Reply:
        said = str(request.messages[-1]["content"])
        self.asked.append(said)
        if "asked you to work on this" in said:
            script = reply(ANSWERED)
        elif "[Answer of another agent" in said:
            script = reply(TOLD)
        elif "tool_result" in said:
            script = reply(WAIT)
        else:
            script = tool("delegate", agent_key="billing", task=ASKED)
        self.standin.play(script)
        return self.standin.backend.complete(request)


def test_a_worker_may_die_while_it_asks_or_answers_another_agent(
    raw: psycopg.Connection[Any], standin: StandIn
) -> None:
    # R054, R057
    standin.open_bill()
    world = make_world()
    make_invokable(world)
    dry = [Statements(), Statements()]
    dies_at(world, standin, dry)
    [asks] = places(dry[0], 'INSERT INTO "conversations_conversation"')
    [answers] = places(dry[1], 'INSERT INTO "conversations_inboundevent"')
    for turn, place, end in ((0, asks, len(dry[0].seen)), (1, answers, len(dry[1].seen))):
        for at in range(place - 2 * NEAR, min(place + 4 * NEAR, end) + 1):
            for side in ("before", "after"):
                dying = [Statements(), Statements()]
                dying[turn] = Statements(at, side)
                dies_at(world, standin, dying)
    assert broken(raw, effects=Effects({}, {}), bill=Bill.shown(standin.bill())) == []


def places(statements: Statements, wanted: str) -> list[int]:
    return [place for place, sql in enumerate(statements.seen, 1) if wanted in sql]


def dies_at(world: World, standin: StandIn, dying: list[Statements]) -> None:
    where = ", ".join(f"{each.side} {each.at}" for each in dying)
    model, event = Family(standin), tell(world, QUESTION, thread=f"thread-{where}", key=where)
    take(world, event.conversation_id, model, dying[0])
    child = below(world, event)
    take(world, child.pk, model, dying[1])
    take(world, event.conversation_id, model, Statements())
    assert below(world, event) == child, where
    assert list(told(world, event)) == [("task", ASKED), ("answer", ANSWERED)], where
    said = [("customer", QUESTION), ("agent", ""), ("agent", WAIT), ("peer", ANSWERED), ("agent", TOLD)]
    assert lines(world, event.conversation_id) == said, where


def take(world: World, conversation_id: int, model: Family, statements: Statements) -> None:
    try:
        with statements.watched():
            answer(world.tenant.pk, conversation_id, backend=model)
    except PowerCutError:
        with acting(world.system):
            running = Turn.objects.filter(conversation=conversation_id, status=Turn.Status.RUNNING).first()
        if running:
            lease_runs_out(world, running)
        answer(world.tenant.pk, conversation_id, backend=model)


def below(world: World, event: InboundEvent) -> Conversation:
    with acting(world.system):
        return Conversation.objects.get(parent=event.conversation_id)


def told(world: World, event: InboundEvent) -> Iterator[tuple[str, str]]:
    with acting(world.system):
        children = Conversation.objects.filter(parent=event.conversation_id)
        for kind, threads in (("task", children), ("answer", [event.conversation_id])):
            for row in InboundEvent.objects.filter(conversation__in=threads, kind=kind):
                yield row.kind, row.text
