"""Interruptions of a turn: it is postponed, continued with a shorter history, stopped or delayed, or restarts with new messages.

A turn is postponed if a later try or an operator can help, and delayed while calls to its model are paused. A turn restarts if
the customer wrote again during the model call (R126).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import random

from apps.conversations.models import InboundEvent
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as, execute_as
from apps.llm.model_backend import BackendError, JsonObject, SpendLimitReached
from apps.runtime.kill_switch_checks import StoppedByPerson, stop_sentence
from apps.runtime.limits.retry_delay import retry_delay
from apps.runtime.limits.turn_limits import MAX_HISTORY_HALVINGS, shortened_start
from apps.runtime.turn_store.turn_claim import TurnClaim
from apps.runtime.turn_store.turn_journal import SHORTEN_HISTORY, lock_turn, postpone, record_steps, restart
from apps.runtime.turns.circuit_breaker_store import BreakerOpen
from apps.runtime.turns.turn_completion import pause_agent_for_spending


def postpone_after_error(claimed: TurnClaim, error: BackendError, *, actor: Actor) -> None:
    """Postpone the turn until its next try. If the provider's account is out of money, wait until an operator helps."""
    tries = claimed.turn.failed_calls + 1
    seconds = retry_delay(tries, error.retry_after_seconds, random())  # noqa: S311  # spread, not secret
    if isinstance(error, SpendLimitReached):
        pause_agent_for_spending(claimed, actor=actor)
    postpone(claimed.turn, error.code, str(error), seconds, tries, actor=actor)


def shorten_history(claimed: TurnClaim, calls: Sequence[JsonObject], asking: int, *, actor: Actor) -> bool:
    """Release the turn to be claimed again at once with half of the history. Paid steps are stored.

    Returns False if the history cannot be halved any more.
    """
    turn, history = claimed.turn, claimed.context.history.messages
    if turn.history_halvings >= MAX_HISTORY_HALVINGS or shortened_start(history, turn.history_halvings) == len(history):
        return False
    with acting_as(actor):
        lock_turn(turn)
        if calls:
            record_steps(turn, calls, (), asking, actor=actor)
        execute_as(actor, SHORTEN_HISTORY, {"turn": turn.pk, "fence": turn.fence})
        sentence = "The history did not fit into the model, so a shorter one is used."
        postpone(turn, "history_shortened", sentence, 0, turn.failed_calls, actor=actor)
    return True


def postpone_stopped(claimed: TurnClaim, *, actor: Actor) -> None:
    """Postpone the turn until a person lets it continue."""
    postpone(claimed.turn, StoppedByPerson.code, stop_sentence(claimed.conversation, actor=actor), 0, actor=actor)


def wait_for_breaker(claimed: TurnClaim, held: BreakerOpen, *, actor: Actor) -> None:
    """Postpone the turn until the circuit breaker may allow a call. No call was made, so no failed try is counted."""
    postpone(claimed.turn, held.code, str(held), held.seconds, claimed.turn.failed_calls, actor=actor)


@dataclass(frozen=True, slots=True)
class RestartedTurn:
    """A turn in its new round with all new messages. `may_go_on` is false if a person stopped the turn."""

    claimed: TurnClaim
    may_go_on: bool


def restart_turn(
    claimed: TurnClaim, calls: Sequence[JsonObject], tools: Sequence[JsonObject], *, actor: Actor
) -> RestartedTurn | None:
    """Begin the turn's next round. None if nothing arrived, or the turn did something that must not be repeated.

    The journal keeps the answers of the last round, which were paid for.
    """
    standing = restart(claimed.turn, calls, tools, actor=actor)
    if not standing.new_messages:
        return None
    turn = claimed.turn
    turn.round, turn.failed_calls = turn.round + 1, 0
    with acting_as(actor):
        events = tuple(InboundEvent.objects.filter(turn_id=turn.pk, conversation=turn.conversation_id))
    return RestartedTurn(
        replace(claimed, events=events, kept=(), asked=None, is_sending_paused=standing.is_sending_paused),
        standing.may_go_on,
    )
