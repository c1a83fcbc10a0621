"""Taking a turn: one statement decides who holds it, then its rows are read."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models.functions import Now

from apps.conversations.models import Conversation, InboundEvent
from apps.conversations.rules import ToolCall
from apps.governance.acting import acting
from apps.governance.actors import Actor
from apps.llm.backend import JsonObject
from apps.runtime.models import ModelCall, ToolStep, Turn
from apps.runtime.resuming import KeptCall, KeptStep
from apps.runtime.rules import CRASHES_PER_TURN, PATIENCE
from apps.runtime.statements import CLAIM
from apps.runtime.steps import Said
from apps.runtime.stops import ANSWERING, Stopped
from apps.tenants.models import Agent


@dataclass(frozen=True, slots=True)
class Claim:
    """A turn this worker holds, with the events it answers and what earlier workers kept of it."""

    turn: Turn
    conversation: Conversation
    events: tuple[InboundEvent, ...]
    kept: tuple[KeptStep, ...] = ()
    asked: JsonObject | None = None
    is_late: bool = False

    @property
    def agent(self) -> Agent:
        """Who answers."""
        return self.conversation.agent

    @property
    def is_spent(self) -> bool:
        """Its workers died too often, so the turn itself kills them; waiting for the model is no death. Or it is too old."""
        return self.is_late or self.turn.crashes >= CRASHES_PER_TURN


def claim(conversation_id: int, *, actor: Actor) -> Claim | None:
    """Take the waiting events of a conversation, or a turn whose lease ran out; None if there is nothing to take.

    Nothing is, while an operator holds it: no turn begins then, and none that waits grows older. `AGENT_KEY=tenant/agent`
    restricts a worker to one agent; unset, it serves every agent (R002, R011, Z-17).
    """
    given: dict[str, Any] = {
        "conversation": conversation_id,
        "only": settings.AGENT_KEY,
        "stops": list(ANSWERING),
        "stopped": Stopped.code,
        "lease": timedelta(seconds=settings.TURN_LEASE_SECONDS),
        "patience": PATIENCE,
    }
    with acting(actor):
        with connection.cursor() as cursor:
            cursor.execute(CLAIM, given)
            row = cursor.fetchone()
        return _claimed(int(row[0])) if row else None


def _claimed(turn_id: int) -> Claim:
    turn = Turn.objects.annotate(now=Now()).select_related("conversation__agent", "session__tools").get(pk=turn_id)
    is_late: bool = turn.deadline_at <= turn.now
    events = tuple(InboundEvent.objects.filter(turn_id=turn_id, conversation=turn.conversation_id))
    if turn.attempts == 1:
        return Claim(turn, turn.conversation, events)
    calls = list(ModelCall.objects.filter(turn=turn, round=turn.round).order_by("step"))
    asked = next((call.asked for call in calls if call.asked), None)
    return Claim(turn, turn.conversation, events, _kept(turn, calls), asked, is_late)


def _kept(turn: Turn, calls: list[ModelCall]) -> tuple[KeptStep, ...]:
    made: dict[int, dict[int, KeptCall]] = {call.step: {} for call in calls}
    for row in ToolStep.objects.filter(turn=turn, round=turn.round):
        call = ToolCall(row.call_id, row.name, row.arguments, row.result, row.is_error)
        made[row.step][row.place] = KeptCall(
            call, is_open=row.state == ToolStep.State.BEGUN, may_be_repeated=row.repeats != ToolStep.Repeats.UNSAFE
        )
    return tuple(
        KeptStep(Said(call.step, call.text, call.said, call.stop_reason), made[call.step])
        for call in calls
        if call.said is not None
    )
