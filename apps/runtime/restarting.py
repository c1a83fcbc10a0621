"""A turn that begins anew, because the customer went on writing while the model thought (R126)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from apps.conversations.models import InboundEvent
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting
from apps.llm.model_backend import JsonObject
from apps.runtime.claims import Claim
from apps.runtime.journal import restart


@dataclass(frozen=True, slots=True)
class Anew:
    """A turn in its next round, with all that has arrived; and whether it may go on, or somebody stopped it."""

    claimed: Claim
    may_go_on: bool


def begun_anew(
    claimed: Claim, calls: Sequence[JsonObject], tools: Sequence[JsonObject], *, actor: Actor
) -> Anew | None:
    """The turn's next round; None where it goes on as it is: nothing has arrived, or it did what cannot be done twice.

    What the round before said stays in the journal, since it is paid for.
    """
    standing = restart(claimed.turn, calls, tools, actor=actor)
    if not standing.said_more:
        return None
    turn = claimed.turn
    turn.round, turn.failed_calls = turn.round + 1, 0
    with acting(actor):
        events = tuple(InboundEvent.objects.filter(turn_id=turn.pk, conversation=turn.conversation_id))
    return Anew(
        replace(claimed, events=events, kept=(), asked=None, is_sending_paused=standing.is_sending_paused),
        standing.may_go_on,
    )
